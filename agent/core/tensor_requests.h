// Answers requests for tensors: from kept ones, or from bound ones while the
// program is paused.
#ifndef AGENT_CORE_TENSOR_REQUESTS_H_
#define AGENT_CORE_TENSOR_REQUESTS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>

#include "absl/status/status.h"
#include "agent/core/bindings.h"
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

// Requests are put in by the transport's thread and served by the agent's.
// While the program is paused, it does not go on while a piece is copied; it
// does between pieces, which ends an answer that was under way with an error.
//
// Reasons of errors: "unknown_node", "value_gone", "bad_slice",
// "slice_too_large", "unreadable".
class TensorRequests {
 public:
  // All must outlive the desk.
  struct Parts {
    const Host* host;
    Devices* devices;
    const NodeTable* nodes;
    const Bindings* bindings;
    const KeptTensors* kept;
    // Of bound tensors, and of outputs.
    const PreviousValues* previous_bound;
    const PreviousValues* previous_outputs;
    RequestedNodes* requested;
    Gate* gate;
    Outbox* outbox;
  };
  explicit TensorRequests(const Parts& parts) : parts_(parts) {}

  void Ask(v1::TensorRequest request);
  void Cancel(uint64_t request_id);
  // The stream on which was asked is gone.
  void DropAll();

  // Serves one request if there is one; true if there was.
  bool ServeOne();

 private:
  struct Order {
    v1::TensorRequest request;
    uint64_t stream;
  };
  struct Value;
  class PieceReader;

  absl::Status Serve(const Order& order);
  absl::Status Find(const v1::TensorRequest& request, Value* value);
  absl::Status NotKept(const v1::TensorRequest& request, uint32_t node) const;
  absl::Status FindPrevious(const v1::TensorRequest& request, uint32_t node,
                            Value* value);
  // Makes value->tensor point to what is there now; with a lock that keeps it
  // there if it is a bound one.
  absl::Status Look(Value* value, std::unique_lock<std::mutex>* lock);
  absl::Status FillHeader(const v1::TensorRequest& request, Value* value,
                          Slice* slice, v1::TensorData::Header* header);
  absl::Status SendData(const Order& order, const Slice& slice, Value* value,
                        v1::TensorData first);
  bool Cancelled(uint64_t request_id);

  const Parts parts_;

  std::mutex mu_;
  // Guarded by mu_.
  std::deque<Order> orders_;
  std::set<uint64_t> cancelled_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_TENSOR_REQUESTS_H_
