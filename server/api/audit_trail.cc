#include "server/api/audit_trail.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/api/caller.h"
#include "server/base/error.h"
#include "server/base/string_views.h"

namespace graphdbg::api {
namespace {

struct Row {
  std::string_view method;
  // Below /api/v1.
  std::string_view path;
  std::string_view action;
  // Whether clients do it again and again, as the page does while it is open.
  bool repeats = false;
};

constexpr Row kTable[] = {
    {"POST", "/login/codes", "issue_code"},
    {"DELETE", "/session", "end_session"},
    {"POST", "/tokens", "create_token"},
    {"DELETE", "/tokens/{token}", "revoke_token"},
    {"POST", "/graphs", "open_model"},
    {"POST", "/trainings/{pid}/attach", "attach"},
    {"POST", "/trainings/{pid}/detach", "detach"},
    {"DELETE", "/jobs/{job}", "delete_job"},
    {"POST", "/jobs/{job}/control", "control"},
    {"POST", "/jobs/{job}/lease", "take_lease"},
    {"DELETE", "/jobs/{job}/lease", "release_lease"},
    {"GET", "/jobs/{job}/graph/export", "export_graph"},
    {"POST", "/jobs/{job}/watchpoints", "add_watchpoint"},
    {"POST", "/jobs/{job}/watchpoints/recommended", "add_recommended"},
    {"PATCH", "/jobs/{job}/watchpoints/{watchpoint}", "change_watchpoint"},
    {"DELETE", "/jobs/{job}/watchpoints/{watchpoint}", "remove_watchpoint"},
    {"POST", "/jobs/{job}/tensor/catch", "catch_tensors"},
    {"POST", "/jobs/{job}/whatif", "experiment"},
    {"POST", "/jobs/{job}/change", "change"},
    {"PUT", "/jobs/{job}/recording", "set_recording"},
    {"POST", "/jobs/{job}/rules", "add_rules"},
    {"DELETE", "/jobs/{job}/rules/{rule}", "remove_rule"},
    {"POST", "/jobs/{job}/findings", "report_findings", true},
    {"GET", "/jobs/{job}/tensor", "read_values", true},
    {"GET", "/jobs/{job}/tensor/map", "map_values", true},
    {"GET", "/jobs/{job}/tensor/download", "download_tensor"},
    {"GET", "/jobs/{job}/hits/{hit}/bundle", "download_bundle"},
    {"POST", "/runs/{run}/checks", "start_check"},
    {"DELETE", "/runs/{run}/checks/{check}", "end_check"},
    {"POST", "/runs/{run}/rules", "add_run_rules"},
    {"DELETE", "/runs/{run}/rules/{rule}", "remove_run_rule"},
    {"GET", "/runs/{run}/graph/export", "export_run_graph"},
    {"GET", "/runs/{run}/tensor", "read_run_values", true},
    {"GET", "/runs/{run}/tensor/map", "map_run_values", true},
    {"GET", "/runs/{run}/tensor/download", "download_run_tensor"},
};

const Row* Find(const Route& route) {
  absl::string_view path = route.path;
  absl::ConsumePrefix(&path, "/api/v1");
  for (const Row& row : kTable) {
    if (row.method == route.method && row.path == ToStd(path)) return &row;
  }
  return nullptr;
}

bool IsRefusal(const absl::Status& outcome) {
  return absl::IsUnauthenticated(outcome) || absl::IsPermissionDenied(outcome);
}

// The parameters of a query: "name=forward/fc1:0, format=npy".
std::string QueryText(const http::Request& request) {
  std::string text;
  for (const auto& [name, value] : request.query) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, "=", value);
  }
  return text;
}

// The tensor without the slice, of which clients read many.
std::string TensorOf(const http::Request& request) {
  for (const auto& [name, value] : request.query) {
    if (name == "name") return value;
  }
  return {};
}

}  // namespace

std::string_view ActionOf(const Route& route) {
  const Row* row = Find(route);
  return row == nullptr ? std::string_view() : row->action;
}

audit::Entry EntryOf(const auth::Principal& caller,
                     const http::Request& request, std::string action,
                     const absl::Status& outcome) {
  audit::Entry entry;
  entry.who = caller.name;
  if (!caller.name.empty()) entry.role = auth::ToString(caller.role);
  entry.from = request.peer;
  entry.action = std::move(action);
  const auto job = request.path_params.find("job");
  if (job != request.path_params.end()) entry.job = job->second;
  const auto run = request.path_params.find("run");
  if (run != request.path_params.end()) {
    entry.job = absl::StrCat("runs/", run->second);
  }
  entry.result = outcome.ok() ? "ok" : ReasonOf(outcome);
  return entry;
}

void RecordOutcome(const Services& services, const Route& route,
                   const http::Request& request, const absl::Status& outcome) {
  const Row* row = Find(route);
  const bool refused = IsRefusal(outcome);
  // The handlers of open routes record refusals themselves, because they check
  // the credential in the body.
  const bool is_recorded_here = refused && route.access != Access::kOpen;
  if (row == nullptr && !is_recorded_here) return;
  std::string action =
      row != nullptr ? std::string(row->action)
                     : absl::StrCat(ToAbsl(route.method), " ", route.path);
  audit::Entry entry =
      EntryOf(CallerOf(request), request, std::move(action), outcome);
  entry.detail = NoteOf(request);
  if (entry.detail.empty()) {
    entry.detail =
        row != nullptr && row->repeats ? TensorOf(request) : QueryText(request);
  }
  if (refused) {
    services.audit.RecordRefused(std::move(entry));
  } else if (row->repeats) {
    services.audit.RecordRepeated(std::move(entry));
  } else {
    services.audit.Record(entry);
  }
}

}  // namespace graphdbg::api
