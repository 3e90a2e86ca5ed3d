#include "proto/wire/error.h"

#include "absl/strings/cord.h"
#include "proto/wire/limits.h"
#include "proto/wire/utf8.h"

namespace graphdbg::wire {

absl::Status MakeError(absl::StatusCode code, absl::string_view reason,
                       absl::string_view message) {
  absl::Status status(code, message);
  if (!reason.empty()) status.SetPayload(kReasonPayload, absl::Cord(reason));
  return status;
}

std::string ReasonOf(const absl::Status& status) {
  auto reason = status.GetPayload(kReasonPayload);
  return reason ? std::string(*reason) : std::string();
}

v1::Error ToError(const absl::Status& status) {
  v1::Error error;
  error.set_code(status.raw_code());
  error.set_message(ToValidUtf8(status.message(), kMaxTextBytes));
  error.set_reason(ToValidUtf8(ReasonOf(status), kMaxNameBytes));
  return error;
}

absl::Status FromError(const v1::Error& error) {
  auto code = static_cast<absl::StatusCode>(error.code());
  const bool known = error.code() > 0 && error.code() <= 16;
  return MakeError(known ? code : absl::StatusCode::kUnknown, error.reason(),
                   error.message());
}

}  // namespace graphdbg::wire
