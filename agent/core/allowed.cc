#include "agent/core/allowed.h"

#include "absl/strings/str_cat.h"
#include "proto/graphdbg/v1/agent_service.pb.h"
#include "proto/wire/error.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::agent {
namespace {

absl::Status Check(bool allowed, absl::string_view action,
                   absl::string_view name) {
  if (allowed) return absl::OkStatus();
  return wire::MakeError(
      absl::StatusCode::kPermissionDenied, "not_allowed_by_job",
      absl::StrCat("the job's owner does not allow ", action,
                   ": GRAPHDBG_ALLOW in the job's environment lacks \"", name,
                   "\""));
}

absl::Status CheckView(const Allowed& allowed, absl::string_view action,
                       absl::string_view node) {
  if (!allowed.view) return Check(false, action, "view");
  if (!allowed.redacted.Matches(node)) return absl::OkStatus();
  return wire::MakeError(
      absl::StatusCode::kPermissionDenied, "not_allowed_by_job",
      absl::StrCat("the job's owner does not allow ", action, " of \"", node,
                   "\": GRAPHDBG_REDACT in the job's environment matches it"));
}

// A bundle has the values of other nodes, too.
absl::Status CheckBundle(const Allowed& allowed, absl::string_view node) {
  RETURN_IF_ERROR(CheckView(allowed, "reading values", node));
  if (allowed.redacted.words() == 0) return absl::OkStatus();
  return wire::MakeError(
      absl::StatusCode::kPermissionDenied, "not_allowed_by_job",
      "the job's owner does not allow bundles, which have the values of "
      "several tensors: GRAPHDBG_REDACT is set in the job's environment");
}

}  // namespace

absl::Status CheckAllowed(const Allowed& allowed,
                          const v1::ServerMessage& message) {
  switch (message.message_case()) {
    case v1::ServerMessage::kCommand:
      return message.command().has_terminate()
                 ? Check(allowed.terminate, "terminating it", "terminate")
                 : Check(allowed.control, "controlling it", "control");
    case v1::ServerMessage::kSetWatchpoint:
      return Check(allowed.control, "setting watchpoints", "control");
    case v1::ServerMessage::kTensorRequest:
      if (message.tensor_request().has_bundle()) {
        return CheckBundle(allowed, message.tensor_request().node());
      }
      if (message.tensor_request().has_experiment()) {
        return Check(allowed.control, "repeating its ops", "control");
      }
      if (message.tensor_request().has_change()) {
        return Check(allowed.change, "changing it", "change");
      }
      if (!message.tensor_request().want_data()) break;
      return CheckView(allowed, "reading values",
                       message.tensor_request().node());
    case v1::ServerMessage::kCatchTensor:
      return CheckView(allowed, "keeping values",
                       message.catch_tensor().node());
    case v1::ServerMessage::kSetRecording:
      return Check(allowed.change, "recording it", "change");
    // These order nothing that the job's owner could mind.
    case v1::ServerMessage::kWelcome:
    case v1::ServerMessage::kRemoveWatchpoint:
    case v1::ServerMessage::kTensorCancel:
    case v1::ServerMessage::kHitsRecorded:
    case v1::ServerMessage::kNeededGraph:
    case v1::ServerMessage::kFinding:
    case v1::ServerMessage::MESSAGE_NOT_SET:
      break;
  }
  return absl::OkStatus();
}

}  // namespace graphdbg::agent
