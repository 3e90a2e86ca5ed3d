// Error responses as RFC 9457 problem documents.
#ifndef SERVER_HTTP_PROBLEM_H_
#define SERVER_HTTP_PROBLEM_H_

#include <optional>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace graphdbg::http {

// The standard text of a status, for example "Not Found" for 404.
std::string_view ReasonPhrase(int status);

// `code` identifies the problem for programs and never changes. `field` names
// the part of the request that is wrong, and `column`, counted from 1, the
// position within its text; both are optional.
Response ProblemResponse(int status, std::string_view code,
                         std::string_view detail, std::string_view field = {},
                         std::optional<int> column = std::nullopt);

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_PROBLEM_H_
