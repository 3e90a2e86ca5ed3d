#include "server/api/status_problem.h"

#include <string>

#include "server/base/error.h"
#include "server/http/problem.h"

namespace graphdbg::api {
namespace {

struct Row {
  absl::StatusCode code;
  // Empty matches any reason.
  std::string_view reason;
  int http_status;
};

// The first matching row applies.
constexpr Row kTable[] = {
    {absl::StatusCode::kInvalidArgument, "invalid_model", 422},
    {absl::StatusCode::kInvalidArgument, "", 400},
    {absl::StatusCode::kOutOfRange, "", 400},
    {absl::StatusCode::kUnauthenticated, "", 401},
    {absl::StatusCode::kPermissionDenied, "", 403},
    {absl::StatusCode::kNotFound, "", 404},
    {absl::StatusCode::kAlreadyExists, "", 409},
    {absl::StatusCode::kFailedPrecondition, "", 409},
    {absl::StatusCode::kAborted, "", 409},
    {absl::StatusCode::kResourceExhausted, "slice_too_large", 413},
    {absl::StatusCode::kResourceExhausted, "body_too_large", 413},
    {absl::StatusCode::kResourceExhausted, "out_of_memory_budget", 503},
    {absl::StatusCode::kResourceExhausted, "", 429},
    {absl::StatusCode::kUnimplemented, "", 501},
    {absl::StatusCode::kUnavailable, "", 503},
    {absl::StatusCode::kCancelled, "", 503},
    {absl::StatusCode::kDeadlineExceeded, "upload_too_slow", 408},
    {absl::StatusCode::kDeadlineExceeded, "", 504},
    {absl::StatusCode::kInternal, "", 500},
    {absl::StatusCode::kDataLoss, "", 500},
    {absl::StatusCode::kUnknown, "", 500},
};

// By then a response has been sent, or ended jobs have been forgotten.
constexpr char kRetryAfterSeconds[] = "5";

bool HasBody(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

}  // namespace

int HttpStatusOf(const absl::Status& status, std::string_view method) {
  // The body is well-formed, but one of its fields is invalid.
  if (status.code() == absl::StatusCode::kInvalidArgument && HasBody(method) &&
      !FieldOf(status).empty()) {
    return 422;
  }
  const std::string reason = ReasonOf(status);
  for (const Row& row : kTable) {
    if (row.code == status.code() &&
        (row.reason.empty() || row.reason == reason)) {
      return row.http_status;
    }
  }
  return 500;
}

http::Response ProblemOf(const absl::Status& status, std::string_view method) {
  const std::string reason = ReasonOf(status);
  http::Response response = http::ProblemResponse(
      HttpStatusOf(status, method), reason, std::string(status.message()),
      FieldOf(status), ColumnOf(status));
  if (reason == "out_of_memory_budget") {
    response.headers.Set("Retry-After", kRetryAfterSeconds);
  }
  return response;
}

http::Response ProblemFor(const absl::Status& status,
                          const http::Request& request) {
  constexpr std::string_view kGoneIsFine = "gone=200";
  http::Response response = ProblemOf(status, request.method);
  if (ReasonOf(status) == "value_gone" &&
      request.headers.Get("Prefer") == kGoneIsFine) {
    response.status = 200;
    response.headers.Set("Preference-Applied", kGoneIsFine);
  }
  return response;
}

}  // namespace graphdbg::api
