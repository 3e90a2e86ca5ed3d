// Converts an absl::Status into an HTTP response.
#ifndef SERVER_API_STATUS_PROBLEM_H_
#define SERVER_API_STATUS_PROBLEM_H_

#include <string_view>

#include "absl/status/status.h"
#include "server/http/message.h"

namespace graphdbg::api {

// The HTTP status for an error, in response to a request with this method.
int HttpStatusOf(const absl::Status& status, std::string_view method);

http::Response ProblemOf(const absl::Status& status, std::string_view method);

}  // namespace graphdbg::api

#endif  // SERVER_API_STATUS_PROBLEM_H_
