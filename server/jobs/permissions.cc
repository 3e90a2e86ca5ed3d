#include "server/jobs/permissions.h"

#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg::jobs {
namespace {

absl::Status Check(bool allowed, absl::string_view what,
                   absl::string_view name) {
  if (allowed) return absl::OkStatus();
  return Error(absl::StatusCode::kPermissionDenied, "not_allowed_by_job",
               absl::StrCat("the job's owner does not allow ", what,
                            ": GRAPHDBG_ALLOW in the job's environment lacks "
                            "\"",
                            name, "\""));
}

}  // namespace

model::Allowed AllowedByRanks(const JobStateMachine& machine) {
  model::Allowed all;
  for (const auto& [number, rank] : machine.ranks()) {
    const model::Allowed& each = rank.hello.allowed;
    all.view &= each.view;
    all.control &= each.control;
    all.terminate &= each.terminate;
    all.change &= each.change;
  }
  return all;
}

absl::Status CheckMayCommand(const model::Allowed& allowed,
                             model::ControlVerb verb) {
  return verb == model::ControlVerb::kTerminate
             ? Check(allowed.terminate, "terminating it", "terminate")
             : Check(allowed.control, "controlling it", "control");
}

absl::Status CheckMayWatch(const model::Allowed& allowed) {
  return Check(allowed.control, "setting watchpoints", "control");
}

absl::Status CheckMayRecord(const model::Allowed& allowed) {
  return Check(allowed.change, "recording it", "change");
}

absl::Status CheckMayExperiment(const model::Allowed& allowed) {
  return Check(allowed.control, "repeating its ops", "control");
}

absl::Status CheckMayChange(const model::Allowed& allowed) {
  return Check(allowed.change, "changing it", "change");
}

absl::Status CheckMayView(const model::Allowed& allowed) {
  return Check(allowed.view, "reading values", "view");
}

}  // namespace graphdbg::jobs
