#include "server/runs/background_check.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace graphdbg::recorded {

void BackgroundCheck::Add(uint64_t steps, std::function<void()> task) {
  total_ += steps;
  tasks_.push_back(std::move(task));
}

void BackgroundCheck::Start(boost::asio::any_io_executor executor) {
  running_ = tasks_.size();
  for (const auto& task : tasks_) {
    boost::asio::post(executor, [self = shared_from_this(), &task] {
      task();
      --self->running_;
    });
  }
}

void BackgroundCheck::Fail(std::string error) {
  {
    absl::MutexLock lock(&error_mu_);
    if (error_.empty()) error_ = std::move(error);
  }
  Cancel();
}

model::CheckReport BackgroundCheck::Progress() const {
  model::CheckReport report;
  const bool running = running_ > 0;
  report.state = cancelled_ ? model::CheckState::kCancelled
                 : running  ? model::CheckState::kRunning
                            : model::CheckState::kDone;
  {
    absl::MutexLock lock(&error_mu_);
    report.error = error_;
  }
  if (!report.error.empty()) report.state = model::CheckState::kFailed;
  report.done = done_;
  report.total = total_;
  return report;
}

}  // namespace graphdbg::recorded
