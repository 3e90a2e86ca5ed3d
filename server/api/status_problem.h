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

// The same, but "value_gone" has status 200 if the request prefers that with
// "Prefer: gone=200". Browsers log each 404 as an error of the page, and that a
// value is gone is none.
http::Response ProblemFor(const absl::Status& status,
                          const http::Request& request);

}  // namespace graphdbg::api

#endif  // SERVER_API_STATUS_PROBLEM_H_
