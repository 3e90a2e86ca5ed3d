// Tells clients and the journal of the changes of a job's state.
#ifndef SERVER_JOBS_STATE_PUBLISHER_H_
#define SERVER_JOBS_STATE_PUBLISHER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>

#include "server/base/task_runner.h"
#include "server/jobs/job_events.h"
#include "server/jobs/job_recorder.h"
#include "server/jobs/job_state_machine.h"

namespace graphdbg::jobs {

// A rank that runs reports every step, and a job can have thousands of ranks.
// What they report together becomes one event per interval. Published at once
// are changes of the job's state, except its step, and, in a job of few ranks,
// those of a rank. That a job of several ranks has paused is published once its
// ranks are together: before that, some of them may have to move on. The
// journal gets the steps of many running ranks less often still: after a
// restart of the server they matter only for ranks that do not come back. On
// the job's strand only.
class StatePublisher {
 public:
  static constexpr std::chrono::milliseconds kInterval{100};
  static constexpr std::chrono::seconds kRecordInterval{5};

  // `now_unix_nano` returns the time that is recorded. `are_together`: no rank
  // of the paused job has to move on.
  StatePublisher(const JobStateMachine& machine, JobRecorder& recorder,
                 JobEvents& events, TaskRunner& tasks,
                 std::function<int64_t()> now_unix_nano,
                 std::function<bool()> are_together);

  // Must be called for every change.
  void OnChange(const JobStateMachine::Change& change);
  // Ranks that have to move on have been ordered to.
  void OnSynchronized();
  // The job has paused, which is not published yet.
  bool awaits_ranks() const { return awaits_ranks_; }

 private:
  // Whether all ranks of several have paused, which is not published yet.
  bool HasJustPaused() const;
  void AwaitRanks();
  void Publish();
  void PublishLater();
  void Record(const Rank& rank);
  void RecordLater(uint32_t rank);

  const JobStateMachine& machine_;
  JobRecorder& recorder_;
  JobEvents& events_;
  TaskRunner& tasks_;
  const std::function<int64_t()> now_unix_nano_;
  const std::function<bool()> are_together_;
  // The job as the last event shows it.
  RunState published_;
  // Ranks whose changes are not published, or not recorded, yet.
  std::set<uint32_t> unpublished_;
  std::set<uint32_t> unrecorded_;
  bool awaits_ranks_ = false;
  // Null while nothing waits.
  std::shared_ptr<void> publish_timer_;
  std::shared_ptr<void> record_timer_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_STATE_PUBLISHER_H_
