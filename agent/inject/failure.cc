#include "agent/inject/failure.h"

#include "absl/strings/cord.h"
#include "absl/types/optional.h"

namespace graphdbg::inject {

namespace {

constexpr absl::string_view kCode = "graphdbg/code";

}  // namespace

absl::Status Failure(absl::string_view code, absl::string_view message) {
  absl::Status status = absl::FailedPreconditionError(message);
  status.SetPayload(kCode, absl::Cord(code));
  return status;
}

std::string FailureCode(const absl::Status& status) {
  const absl::optional<absl::Cord> code = status.GetPayload(kCode);
  return code.has_value() ? std::string(*code) : "internal";
}

}  // namespace graphdbg::inject
