#include "server/jobs/control_lease.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"

namespace graphdbg::jobs {

ControlLease::ControlLease(TaskRunner& runner,
                           std::chrono::milliseconds lifetime,
                           std::function<void()> on_change)
    : runner_(runner), lifetime_(lifetime), on_change_(std::move(on_change)) {}

absl::Status ControlLease::Check(const std::string& name) const {
  if (name.empty() || !holder_ || holder_->name == name) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kFailedPrecondition, "not_controller",
               absl::StrCat("'", holder_->name,
                            "' controls this job; to take over, use 'Take "
                            "over' on the page, 'graphdbg ctl --take-over' or "
                            "POST /jobs/{job}/lease"));
}

void ControlLease::Use(const std::string& name) {
  if (name.empty()) return;
  if (holder_ && holder_->name == name) return Extend();
  Set(model::Controller{name, absl::GetCurrentTimeNanos()});
}

void ControlLease::TakeOver(const std::string& name) { Use(name); }

absl::Status ControlLease::Release(const std::string& name) {
  RETURN_IF_ERROR(Check(name));
  if (holder_) Set(std::nullopt);
  return absl::OkStatus();
}

void ControlLease::Set(std::optional<model::Controller> holder) {
  holder_ = std::move(holder);
  if (holder_) {
    Extend();
  } else {
    timer_.reset();
  }
  on_change_();
}

void ControlLease::Extend() {
  timer_ = runner_.RunAfter(lifetime_, [this] { Set(std::nullopt); });
}

}  // namespace graphdbg::jobs
