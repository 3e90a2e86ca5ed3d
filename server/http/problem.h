// Error answers as RFC 9457 problem documents.
#ifndef SERVER_HTTP_PROBLEM_H_
#define SERVER_HTTP_PROBLEM_H_

#include <optional>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace graphdbg::http {

// "Not Found" for 404.
std::string_view ReasonPhrase(int status);

// `code` is the stable word for programs; `field` names the part of the
// request that is wrong, if one is, and `column`, from 1, where within its
// text.
Response ProblemResponse(int status, std::string_view code,
                         std::string_view detail, std::string_view field = {},
                         std::optional<int> column = std::nullopt);

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_PROBLEM_H_
