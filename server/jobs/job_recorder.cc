#include "server/jobs/job_recorder.h"

#include <utility>

namespace graphdbg::jobs {

JobRecorder::JobRecorder(
    std::unique_ptr<JobJournal> journal, TaskRunner& tasks,
    std::function<void(const absl::Status&)> report_failure)
    : journal_(std::move(journal)),
      tasks_(tasks),
      report_failure_(std::move(report_failure)) {}

void JobRecorder::WhenDurable(std::function<void()> then) {
  if (journal_ == nullptr) return then();
  journal_->WhenDurable([this, post = tasks_.Poster(),
                         then = std::move(then)](absl::Status status) {
    post([this, status = std::move(status), then] {
      OnDurable(status);
      then();
    });
  });
}

void JobRecorder::OnDurable(const absl::Status& status) {
  if (status.ok() || std::exchange(failed_, true)) return;
  report_failure_(status);
}

void JobRecorder::Forget() {
  if (journal() != nullptr) journal_->Forget();
  forgotten_ = true;
}

}  // namespace graphdbg::jobs
