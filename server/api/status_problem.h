// The one place where a Status becomes an HTTP answer.
#ifndef SERVER_API_STATUS_PROBLEM_H_
#define SERVER_API_STATUS_PROBLEM_H_

#include <string_view>

#include "absl/status/status.h"
#include "server/http/message.h"

namespace graphdbg::api {

// For a status that is not OK, in answer to a request of this method.
int HttpStatusOf(const absl::Status& status, std::string_view method);

http::Response ProblemOf(const absl::Status& status, std::string_view method);

}  // namespace graphdbg::api

#endif  // SERVER_API_STATUS_PROBLEM_H_
