// Parsers of request bodies. Errors are INVALID_ARGUMENT and name the field,
// such as "condition.params.value".
#ifndef SERVER_API_DECODE_H_
#define SERVER_API_DECODE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/auth/principal.h"
#include "server/model/job.h"
#include "server/model/recording.h"
#include "server/model/run.h"
#include "server/model/watch.h"

namespace graphdbg::api {

absl::StatusOr<model::ControlRequest> DecodeControl(std::string_view body);
// A body that contains only {"condition": …}.
absl::StatusOr<model::Condition> DecodeCondition(std::string_view text);
absl::StatusOr<model::WatchpointSpec> DecodeWatchpoint(std::string_view body);
// If the body contains one of nodes, scopes, patterns and categories, the
// others keep their values in `old`.
absl::StatusOr<model::WatchpointChange> DecodeWatchpointChange(
    std::string_view body, const model::WatchpointSpec& old);
// The body of POST /runs/{run}/checks.
absl::StatusOr<model::CheckSpec> DecodeCheck(std::string_view body);
absl::StatusOr<model::RecordingSpec> DecodeRecording(std::string_view body);
struct CatchRequest {
  std::string node;
  uint32_t rank = 0;
};
absl::StatusOr<CatchRequest> DecodeCatch(std::string_view body);
// Accepts an empty body or an object without fields.
absl::Status DecodeNothing(std::string_view body);
// The body of POST /login/codes.
struct LoginCodeRequest {
  std::string name;
  auth::Role role = auth::Role::kView;
  // Editors may show the page in a frame.
  bool embed = false;
};
// A name or role that is absent, and an empty body, stand for the caller's own.
absl::StatusOr<LoginCodeRequest> DecodeLoginCodeRequest(
    std::string_view text, const auth::Principal& caller);

// The body of POST /tokens.
struct TokenRequest {
  std::string name;
  auth::Role role = auth::Role::kView;
  absl::Duration lifetime = absl::InfiniteDuration();
};
absl::StatusOr<TokenRequest> DecodeTokenRequest(std::string_view text);

// The one-time code of a login.
absl::StatusOr<std::string> DecodeLogin(std::string_view body);

}  // namespace graphdbg::api

#endif  // SERVER_API_DECODE_H_
