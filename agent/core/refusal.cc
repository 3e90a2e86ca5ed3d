#include "agent/core/refusal.h"

#include "absl/strings/str_cat.h"

namespace graphdbg::agent {

std::string ServerAddress(const Config& config) {
  if (!config.socket.empty()) return config.socket;
  return absl::StrCat(config.host, ":", config.port);
}

bool IsRefusal(const absl::Status& status, bool accepted) {
  switch (status.code()) {
    case absl::StatusCode::kAlreadyExists:
      return !accepted;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

std::string RefusalMessage(const Config& config, const absl::Status& status) {
  const std::string address = ServerAddress(config);
  constexpr char kConsequence[] = "; training continues without debugging";
  switch (status.code()) {
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return absl::StrCat("the server at ", address,
                          config.token.empty()
                              ? " requires a token: set GRAPHDBG_TOKEN_FILE or "
                                "GRAPHDBG_TOKEN"
                              : " does not accept the token of "
                                "GRAPHDBG_TOKEN_FILE or GRAPHDBG_TOKEN",
                          kConsequence);
    case absl::StatusCode::kAlreadyExists:
      return absl::StrCat("the server at ", address, " already has rank ",
                          config.rank, " of job ", config.job,
                          " from another process (", status.message(), ")",
                          kConsequence);
    case absl::StatusCode::kUnimplemented:
      return absl::StrCat("the program listening at ", address,
                          " is not a graphdbg server", kConsequence);
    default:
      return absl::StrCat("the server at ", address,
                          " refused the connection: ", status.message(),
                          kConsequence);
  }
}

}  // namespace graphdbg::agent
