// Fetches tensors from a training process: converts requests into view
// commands, a few at a time, and answers them from the client's replies.
#ifndef SERVER_MINDSPORE_TENSOR_FETCHER_H_
#define SERVER_MINDSPORE_TENSOR_FETCHER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/mindspore/debugger.pb.h"
#include "server/base/memory_budget.h"
#include "server/jobs/agent_port.h"
#include "server/mindspore/node_table.h"
#include "server/mindspore/profile.h"
#include "server/mindspore/tensor_answer.h"

namespace graphdbg::mindspore {

// Not thread-safe. The protocol has no slices: clients send whole tensors.
// Values are cached while the job is paused, so that inspecting several slices
// of a tensor needs one transfer.
class TensorFetcher {
 public:
  // Limit for the tensors of one command. The client builds its whole reply in
  // memory.
  static constexpr uint64_t kMaxCommandBytes = uint64_t{64} << 20;
  // Limit for one tensor. The client fails above 2 GiB.
  static constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 30;
  // Limit for the cache.
  static constexpr uint64_t kMaxCachedBytes = uint64_t{512} << 20;
  // If a request needs statistics only, tensors up to this size are fetched and
  // measured here. Larger ones are measured by the client, which is less
  // accurate.
  static constexpr uint64_t kMaxMeasuredBytes = uint64_t{16} << 20;

  // `nodes` must outlive the fetcher.
  explicit TensorFetcher(const NodeTable& nodes) : nodes_(nodes) {}

  void Configure(const Profile& profile, bool gpu);
  // Values count in this budget. May be null.
  void set_memory(std::shared_ptr<MemoryBudget> memory) {
    memory_ = std::move(memory);
  }

  void Submit(const jobs::TensorOrder& order);
  void Cancel(uint64_t request_id);

  // Returns the next command, if there are requests. Call OnCommandDone()
  // before the next call.
  std::optional<debugger::ViewCMD> Next();

  // The client's replies. Old clients and MindInsight's mock client send values
  // even if the command asks for less. Tensors that were not requested are
  // ignored.
  void Take(const debugger::TensorProto& piece);
  // These messages have no names. `index` is their position in the reply.
  void Take(size_t index, const debugger::TensorBase& base);
  void Take(size_t index, const debugger::TensorSummary& summary);
  // The client has replied completely. It does not have the tensors that are
  // still missing.
  void OnCommandDone();

  // The client's values now belong to `step`. Clears the cache.
  void SetStep(uint64_t step);

  // Returns the answers since the last call.
  std::vector<jobs::TensorChunk> TakeAnswers();

 private:
  using Level = debugger::ViewCMD::Level;

  // The client's name for a tensor.
  struct Key {
    std::string node_name;
    std::string slot;
    std::string iter;
    bool truncate = false;

    auto Tuple() const { return std::tie(node_name, slot, iter); }
    bool operator<(const Key& o) const { return Tuple() < o.Tuple(); }
    bool operator==(const Key& o) const { return Tuple() == o.Tuple(); }
  };
  struct Request {
    jobs::TensorOrder order;
    Key key;
    Level level = debugger::ViewCMD::value;
    // 0 if the size is unknown.
    uint64_t bytes = 0;
    uint64_t step = 0;

    // Whether the answer needs more than type and shape.
    bool needs_content() const {
      return order.query.want_data || order.query.want_statistics;
    }
  };
  struct Incoming {
    Value value;
    MemoryBudget::Reservation memory;
    bool begun = false;
    // Why the value cannot be kept.
    absl::Status refused;
  };
  using ValuePtr = std::shared_ptr<const Value>;

  absl::StatusOr<Request> Plan(const jobs::TensorOrder& order) const;
  absl::Status PlanVersion(const model::TensorQuery& query,
                           const NodeEntry& node, Request& request) const;
  // Chooses what to request from the client for a tensor of this size.
  // RESOURCE_EXHAUSTED if it is too large.
  absl::Status PlanLevel(uint64_t bytes, Request& request) const;
  // Answers the request without the client. Returns false if that is not
  // possible.
  bool AnswerLocally(const Request& request, const NodeEntry& node);
  // Appends a piece of the value, unless it is too large.
  static absl::Status Append(const std::string& piece, Incoming& incoming);
  void Finish(const Key& key, Incoming incoming);
  template <class Result>
  void AnswerAll(const Key& key, const Result& result);
  void Cache(const Key& key, ValuePtr value);
  absl::Status ValueGone(const Request& request) const;

  const NodeTable& nodes_;
  std::shared_ptr<MemoryBudget> memory_;
  Profile profile_;
  bool gpu_ = false;
  uint64_t step_ = 0;
  std::deque<Request> waiting_;
  // The requests and, in order, the tensors of the current command.
  std::vector<Request> pending_;
  std::vector<Key> requested_;
  std::map<Key, Incoming> incoming_;
  std::map<Key, ValuePtr> cache_;
  uint64_t cached_bytes_ = 0;
  std::vector<jobs::TensorChunk> answers_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_TENSOR_FETCHER_H_
