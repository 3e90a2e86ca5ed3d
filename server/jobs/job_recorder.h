// The connection of a job to its journal.
#ifndef SERVER_JOBS_JOB_RECORDER_H_
#define SERVER_JOBS_JOB_RECORDER_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "server/base/task_runner.h"
#include "server/jobs/journal.h"

namespace graphdbg::jobs {

// Records a job if there is a journal, and delays work until the records are
// durable. On the job's strand only.
//
// A journal that fails does not stop the job: the error is reported once, and
// work continues as if the records were durable.
class JobRecorder {
 public:
  // `journal` may be null: nothing is recorded then, and everything counts as
  // durable. `report_failure` receives the journal's first error.
  JobRecorder(std::unique_ptr<JobJournal> journal, TaskRunner& tasks,
              std::function<void(const absl::Status&)> report_failure);

  // The journal for the next record. Null if there is none, or if the job was
  // forgotten.
  JobJournal* journal() const { return forgotten_ ? nullptr : journal_.get(); }

  // Runs `then` on the strand once all records so far are durable; immediately
  // if there is no journal.
  void WhenDurable(std::function<void()> then);

  // Removes the job from the journal. Nothing is recorded afterwards.
  void Forget();

 private:
  void OnDurable(const absl::Status& status);

  const std::unique_ptr<JobJournal> journal_;
  TaskRunner& tasks_;
  const std::function<void(const absl::Status&)> report_failure_;
  bool forgotten_ = false;
  bool failed_ = false;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_JOB_RECORDER_H_
