// Switches the recording of a job's ranks on and off.
#ifndef SERVER_JOBS_JOB_RECORDINGS_H_
#define SERVER_JOBS_JOB_RECORDINGS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/task_runner.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/job_state_machine.h"
#include "server/model/recording.h"

namespace graphdbg::jobs {

// On the job's strand only.
class JobRecordings {
 public:
  using Completion = std::function<void(absl::StatusOr<model::JobRecording>)>;

  // Both must outlive this.
  JobRecordings(const JobStateMachine& machine, TaskRunner& runner)
      : machine_(machine), runner_(runner) {}

  // The last report of each rank. One that is gone records nothing any more,
  // but it still has its directory.
  model::JobRecording List() const;

  // Sends the order to all ranks, and calls `done` once all have answered.
  // FAILED_PRECONDITION "recording_failed" if a rank cannot record, as its
  // message says; UNIMPLEMENTED "unsupported_command" if a rank's agent cannot
  // be switched, or cannot record more for some steps; PERMISSION_DENIED
  // "not_allowed_by_job"; UNAVAILABLE "job_gone" if no rank is connected or one
  // is lost meanwhile; DEADLINE_EXCEEDED.
  void Set(const model::RecordingSpec& spec, Completion done);

  void OnReport(uint32_t rank, const RecordingReport& report);
  // The rank will not answer any more.
  void FailRank(uint32_t rank, const absl::Status& status);

 private:
  struct Order {
    std::set<uint32_t> awaited;
    absl::Status error;
    Completion done;
    std::shared_ptr<void> deadline;
  };
  using Orders = std::map<uint64_t, Order>;

  absl::Status Check(const model::RecordingSpec& spec) const;
  // A rank has answered. Completes the order if it was the last.
  void Answer(Orders::iterator order, uint32_t rank,
              const absl::Status& status);
  void Finish(Orders::iterator order);

  const JobStateMachine& machine_;
  TaskRunner& runner_;
  uint64_t last_id_ = 0;
  Orders orders_;
  std::map<uint32_t, RecordingReport> reports_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_JOB_RECORDINGS_H_
