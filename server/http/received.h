// What Beast has read, in this room's own terms. Sees Beast: included by this
// room's sources only.
#ifndef SERVER_HTTP_RECEIVED_H_
#define SERVER_HTTP_RECEIVED_H_

#include <boost/beast/core/string_type.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/system/error_code.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/message.h"
#include "server/http/server.h"

namespace graphdbg::http {

inline std::string_view View(boost::beast::string_view s) {
  return {s.data(), s.size()};
}

bool ExpectsContinue(const boost::beast::http::request_header<>& header);

// Without its body. Absent if the target is not a path with a well-formed
// query.
std::optional<Request> ToRequest(
    const boost::beast::http::request_header<>& message,
    const std::string& peer);

// What a request that cannot be read is answered with; absent if the
// connection is no good for an answer.
std::optional<Response> ReadProblem(const boost::system::error_code& ec,
                                    const ServerOptions& options);

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_RECEIVED_H_
