// Converts requests and errors from Beast into the types of this package. Uses
// Beast: included by this package's sources only.
#ifndef SERVER_HTTP_RECEIVED_H_
#define SERVER_HTTP_RECEIVED_H_

#include <boost/beast/core/string_type.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/http/message.h"

namespace graphdbg::http {

bool ExpectsContinue(const boost::beast::http::request_header<>& header);

// The request without its body. INVALID_ARGUMENT if the target is not a path or
// is not correctly percent-encoded, or if a header that decides about access
// occurs twice; RESOURCE_EXHAUSTED if there are too many headers.
absl::StatusOr<Request> ToRequest(
    const boost::beast::http::request_header<>& message,
    const std::string& peer);

// The response to a request that cannot be read. Absent if the connection
// cannot carry a response.
std::optional<Response> ReadProblem(const boost::system::error_code& ec,
                                    uint64_t max_header_bytes,
                                    uint64_t max_body_bytes);

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_RECEIVED_H_
