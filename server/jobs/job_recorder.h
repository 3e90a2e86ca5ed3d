// The connection of a job to its journal.
#ifndef SERVER_JOBS_JOB_RECORDER_H_
#define SERVER_JOBS_JOB_RECORDER_H_

#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "server/base/task_runner.h"
#include "server/jobs/journal.h"

namespace graphdbg::jobs {

// The reason (ReasonOf) of errors that report that something could not be
// stored.
inline constexpr std::string_view kNotKept = "not_kept";

// UNAVAILABLE "not_kept", for what was refused because of `cause`.
absl::Status NotKept(const absl::Status& cause);

// Records a job if there is a journal, and delays work until the records are
// durable. On the job's strand only.
//
// A journal that fails does not stop the job, which continues with what it has
// in memory. It keeps the journal from acknowledging anything: requests are
// answered with "not_kept".
class JobRecorder {
 public:
  // `journal` may be null: nothing is recorded then, and everything counts as
  // durable. `report_failure` receives the first error of each failure.
  JobRecorder(std::unique_ptr<JobJournal> journal, TaskRunner& tasks,
              std::function<void(const absl::Status&)> report_failure);

  // The journal for the next record. Null if there is none, or if the job was
  // sealed or forgotten.
  JobJournal* journal() const { return sealed_ ? nullptr : journal_.get(); }

  // UNAVAILABLE "not_kept" if a request that must be stored would fail now.
  absl::Status Check() const;
  // The same for requests that are possible although the job is sealed.
  absl::Status CheckStore() const;
  // Whether reports that are recorded have to wait.
  bool full() const { return journal() != nullptr && journal_->full(); }

  // Runs `then` on the strand once all records so far are durable; immediately
  // if there is no journal. While the journal fails, `then` gets UNAVAILABLE
  // "not_kept", although the records will still be written.
  void WhenDurable(std::function<void(absl::Status)> then);
  // The same, but waits for a journal that fails. An error means that the
  // records will never be written.
  void OnceDurable(std::function<void(absl::Status)> then);

  // Nothing is recorded from now on.
  void Seal() { sealed_ = true; }
  // Seals the job and removes it from the journal.
  void Forget();
  // Removes the job from the journal, before everything that other jobs record
  // afterwards. Any thread; Forget() must follow.
  void EraseRecords();

 private:
  using JournalCall = void (JobJournal::*)(std::function<void(absl::Status)>);

  void Wait(JournalCall call, std::function<void(absl::Status)> then);

  const std::unique_ptr<JobJournal> journal_;
  TaskRunner& tasks_;
  const std::function<void(const absl::Status&)> report_failure_;
  bool sealed_ = false;
  bool failed_ = false;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_JOB_RECORDER_H_
