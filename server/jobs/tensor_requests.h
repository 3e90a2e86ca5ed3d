// Requests for the values of tensors, which only agents have.
#ifndef SERVER_JOBS_TENSOR_REQUESTS_H_
#define SERVER_JOBS_TENSOR_REQUESTS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/task_runner.h"
#include "server/graph/graph_store.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/job_state_machine.h"
#include "server/jobs/tensor_answer.h"
#include "server/model/tensor.h"

namespace graphdbg::jobs {

// Validates requests, forwards them to the rank, and assembles the answers. On
// the job's strand only.
//
// Bounded in the number of pending requests and in the bytes that their answers
// hold together.
class TensorRequests {
 public:
  static constexpr size_t kMaxPending = 1'024;

  struct Limits {
    // For one answer, and for all pending answers together.
    uint64_t max_bytes = 0;
    uint64_t max_total_bytes = 0;
    std::chrono::milliseconds deadline{0};
    // The budget of the whole server. May be null.
    std::shared_ptr<MemoryBudget> memory = nullptr;
  };

  using Completion = std::function<void(absl::StatusOr<model::TensorValue>)>;

  TensorRequests(const graph::GraphStore& graph, const JobStateMachine& machine,
                 TaskRunner& tasks, Limits limits);

  // Calls `complete` once: at once with an error of the request, or later with
  // the answer. NOT_FOUND "unknown_node", "unknown_slot" or "unknown_rank",
  // UNIMPLEMENTED "unsupported" for bundles, FAILED_PRECONDITION
  // "not_captured", INVALID_ARGUMENT "bad_slice", PERMISSION_DENIED
  // "not_allowed_by_job", UNAVAILABLE "job_gone", RESOURCE_EXHAUSTED
  // "too_many_requests", "slice_too_large" or "out_of_memory_budget",
  // DEADLINE_EXCEEDED "deadline_exceeded", INTERNAL "bad_answer", or the
  // agent's own error.
  void Request(model::TensorQuery query, Completion complete);

  // Orders the rank to keep the node's outputs when it executes next, and to
  // write a bundle if there is a cause to. Errors as Request.
  absl::Status Catch(const std::string& node, uint32_t rank,
                     const std::string& capture = "");

  // A rank sends a chunk of an answer. Chunks of completed requests are
  // ignored; an agent whose answer was rejected is ordered to stop sending it.
  void OnChunk(const Rank& rank, const TensorChunk& chunk);

  // Fails every request to this rank.
  void FailRank(uint32_t rank, const absl::Status& status);

  size_t pending() const { return pending_.size(); }

 private:
  struct Pending {
    TensorAnswer answer;
    // Bytes received so far.
    uint64_t held_bytes = 0;
    Completion complete;
    // The rank's connection. A rank that disconnects fails its requests.
    std::shared_ptr<AgentLink> link;
    std::shared_ptr<void> deadline;
  };

  absl::StatusOr<const Rank*> Check(const model::TensorQuery& query) const;
  absl::StatusOr<const Rank*> ConnectedRank(uint32_t number) const;
  absl::Status Accept(Pending& pending, const TensorChunk& chunk);
  void OnDeadline(uint64_t request_id);
  void Finish(std::map<uint64_t, Pending>::iterator it,
              absl::StatusOr<model::TensorValue> result);

  const graph::GraphStore& graph_;
  const JobStateMachine& machine_;
  TaskRunner& tasks_;
  const Limits limits_;
  uint64_t last_id_ = 0;
  // Bytes of all pending answers.
  uint64_t held_bytes_ = 0;
  std::map<uint64_t, Pending> pending_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_TENSOR_REQUESTS_H_
