// Measures all tensors of a rank's current step.
#ifndef SERVER_JOBS_STEP_MEASURER_H_
#define SERVER_JOBS_STEP_MEASURER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/task_runner.h"
#include "server/graph/graph_store.h"
#include "server/graph/step_statistics.h"
#include "server/jobs/job_state_machine.h"
#include "server/jobs/known_statistics.h"
#include "server/jobs/tensor_requests.h"

namespace graphdbg::jobs {

// Combines the statistics of the step that are known with those that the paused
// rank's agent answers, of which few are awaited at once, so that requests of
// users are not delayed. Callers that ask at the same stop share one
// measurement. On the job's strand only.
class StepMeasurer {
 public:
  // Tensors beyond these are not asked for.
  static constexpr size_t kMaxAsked = 20'000;
  static constexpr size_t kMaxInFlight = 32;
  static constexpr std::chrono::milliseconds kDeadline{5'000};

  // The file of proto/docs/step-statistics.md, or NOT_FOUND "unknown_rank". The
  // file says so if it is not complete.
  using Completion = std::function<void(absl::StatusOr<std::string>)>;

  // All outlive this.
  StepMeasurer(const graph::GraphStore& graph, const JobStateMachine& machine,
               KnownStatistics& known, TensorRequests& requests,
               TaskRunner& tasks);

  void Request(uint32_t rank, Completion complete);

 private:
  using Tensor = std::pair<graph::NodeIndex, uint32_t>;
  struct Measurement {
    uint32_t rank = 0;
    uint64_t step = 0;
    // How often the rank had resumed when this began.
    uint64_t stop = 0;
    std::vector<graph::StatisticsRow> rows;
    // Tensors to ask for, and how many have been.
    std::vector<Tensor> unknown;
    size_t asked = 0;
    size_t in_flight = 0;
    bool asking = false;
    bool complete = true;
    bool finished = false;
    std::shared_ptr<void> deadline;
    std::vector<Completion> waiting;
  };
  using Shared = std::shared_ptr<Measurement>;

  // Takes over what is known, and lists the rest.
  void Collect(Measurement& measurement) const;
  void AskMore(const Shared& measurement);
  void OnAnswer(Measurement& measurement, Tensor tensor,
                const absl::StatusOr<model::TensorValue>& value);
  void Finish(Measurement& measurement);
  graph::StatisticsRow RowOf(Tensor tensor,
                             const model::Statistics& statistics) const;

  const graph::GraphStore& graph_;
  const JobStateMachine& machine_;
  KnownStatistics& known_;
  TensorRequests& requests_;
  TaskRunner& tasks_;
  // By rank.
  std::map<uint32_t, Shared> running_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_STEP_MEASURER_H_
