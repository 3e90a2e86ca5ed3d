// Answers the server's requests for tensors.
#ifndef AGENT_CORE_TENSOR_REQUESTS_H_
#define AGENT_CORE_TENSOR_REQUESTS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/base/mutex.h"
#include "agent/core/allowed.h"
#include "agent/core/bindings.h"
#include "agent/core/bundle_requests.h"
#include "agent/core/devices.h"
#include "agent/core/gate.h"
#include "agent/core/host.h"
#include "agent/core/kept_tensors.h"
#include "agent/core/node_table.h"
#include "agent/core/outbox.h"
#include "agent/core/previous_values.h"
#include "agent/core/requested_nodes.h"
#include "agent/tensor/slice.h"
#include "proto/graphdbg/v1/tensor.pb.h"

namespace graphdbg::agent {

// Values come from kept tensors, or from bound tensors while the program is
// paused. The transport's thread adds requests, and the agent's thread serves
// them.
//
// A paused program cannot resume while a piece of an answer is copied. It can
// between pieces, which ends the answer with an error.
//
// Reasons of errors: "unknown_node", "value_gone", "bad_slice",
// "slice_too_large", "unreadable", "not_paused", "cannot_change", and those of
// BundleRequests.
class TensorRequests {
 public:
  // All must outlive this.
  struct Parts {
    const Host* host;
    Devices* devices;
    const NodeTable* nodes;
    const Bindings* bindings;
    KeptTensors* kept;
    const PreviousValues* previous_bound;
    const PreviousValues* previous_outputs;
    RequestedNodes* requested;
    Gate* gate;
    Outbox* outbox;
    // Null: there are no bundles.
    BundleRequests* bundles = nullptr;
    // Shows the user a line.
    std::function<void(const std::string& line)> notify = nullptr;
    // Receives each change that was made, without its time.
    std::function<void(const v1::UserChange& change)> changed = nullptr;
    // Null: everything is allowed.
    const Allowed* allowed = nullptr;
  };
  explicit TensorRequests(const Parts& parts) : parts_(parts) {}

  // `permission` is the answer if it is not OK.
  void Add(v1::TensorRequest request, absl::Status permission)
      GRAPHDBG_EXCLUDES(mu_);
  void Cancel(uint64_t request_id) GRAPHDBG_EXCLUDES(mu_);
  // The stream that the requests came from has ended.
  void DropAll() GRAPHDBG_EXCLUDES(mu_);

  // Serves one request. Returns false if there was none.
  bool ServeOne() GRAPHDBG_EXCLUDES(mu_);

 private:
  struct Pending {
    v1::TensorRequest request;
    absl::Status permission;
    // The stream that it came from.
    uint64_t stream;
  };
  struct Value;
  class PieceReader;

  absl::Status Serve(const Pending& pending);
  absl::Status ServeBundle(const Pending& pending);
  absl::Status ServeExperiment(const Pending& pending);
  absl::Status ServeChange(const Pending& pending);
  // Returns what was done.
  absl::StatusOr<std::string> Change(const v1::TensorRequest& request);
  void ReportChange(const v1::TensorRequest& request, const std::string& text);
  // Answers with a text.
  void SendText(const Pending& pending, std::string text);
  absl::Status Find(const v1::TensorRequest& request, Value* value);
  // The error that explains why there is no value of the node.
  absl::Status NotKept(const v1::TensorRequest& request, uint32_t node) const;
  absl::Status FindPrevious(const v1::TensorRequest& request, uint32_t node,
                            Value* value);
  // Points value->tensor to the current memory of the value. While `hold` is
  // held, the program cannot resume and free it.
  absl::Status Locate(Value* value, Gate::Hold* hold);
  absl::Status FillHeader(const v1::TensorRequest& request, Value* value,
                          Slice* slice, v1::TensorData::Header* header);
  absl::Status SendData(const Pending& pending, const Slice& slice,
                        Value* value, v1::TensorData first);
  // Reads the next piece, with the program held.
  absl::Status ReadPiece(PieceReader* reader, Value* value,
                         v1::TensorData* piece);
  bool Cancelled(uint64_t request_id) GRAPHDBG_EXCLUDES(mu_);

  const Parts parts_;

  Mutex mu_;
  std::deque<Pending> pending_ GRAPHDBG_GUARDED_BY(mu_);
  std::set<uint64_t> cancelled_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_TENSOR_REQUESTS_H_
