#include "server/jobs/job_recorder.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg::jobs {

absl::Status NotKept(const absl::Status& cause) {
  return Error(absl::StatusCode::kUnavailable, kNotKept,
               absl::StrCat("the server cannot store this: ",
                            std::string(cause.message())));
}

JobRecorder::JobRecorder(
    std::unique_ptr<JobJournal> journal, TaskRunner& tasks,
    std::function<void(const absl::Status&)> report_failure)
    : journal_(std::move(journal)),
      tasks_(tasks),
      report_failure_(std::move(report_failure)) {}

absl::Status JobRecorder::Check() const {
  if (journal_ != nullptr && sealed_) {
    return NotKept(absl::FailedPreconditionError(
        "the job was removed, or set aside because it is damaged"));
  }
  return CheckStore();
}

absl::Status JobRecorder::CheckStore() const {
  if (journal_ == nullptr) return absl::OkStatus();
  if (const absl::Status status = journal_->status(); !status.ok()) {
    return NotKept(status);
  }
  if (!journal_->full()) return absl::OkStatus();
  return NotKept(absl::ResourceExhaustedError(
      "too much waits for the disk; try again later"));
}

void JobRecorder::WhenDurable(std::function<void(absl::Status)> then) {
  Wait(&JobJournal::WhenDurable, std::move(then));
}

void JobRecorder::OnceDurable(std::function<void(absl::Status)> then) {
  Wait(&JobJournal::OnceDurable, std::move(then));
}

void JobRecorder::Wait(JournalCall call,
                       std::function<void(absl::Status)> then) {
  if (journal_ == nullptr) return then(absl::OkStatus());
  (*journal_.*call)([this, post = tasks_.Poster(),
                     then = std::move(then)](absl::Status status) {
    post([this, status = std::move(status), then] {
      if (status.ok()) {
        failed_ = false;
        return then(status);
      }
      if (!std::exchange(failed_, true)) report_failure_(status);
      then(NotKept(status));
    });
  });
}

void JobRecorder::Forget() {
  EraseRecords();
  sealed_ = true;
}

void JobRecorder::EraseRecords() {
  if (journal_ != nullptr) journal_->Forget();
}

}  // namespace graphdbg::jobs
