#include "server/http/received.h"

#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "server/base/string_views.h"
#include "server/http/problem.h"
#include "server/http/url_decoding.h"

namespace graphdbg::http {

namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using boost::system::error_code;

namespace {

std::string_view View(beast::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

std::optional<Response> ReadProblem(const error_code& ec,
                                    const ServerOptions& options) {
  if (ec == beast::error::timeout) {
    return ProblemResponse(408, "request_timeout",
                           "the request took too long to arrive");
  }
  if (ec == bhttp::error::header_limit) {
    return ProblemResponse(431, "header_too_large",
                           "the request header exceeds the limit of " +
                               std::to_string(options.max_header_bytes) +
                               " bytes");
  }
  if (ec == bhttp::error::body_limit) {
    return ProblemResponse(413, "body_too_large",
                           "the request body exceeds the limit of " +
                               std::to_string(options.max_body_bytes) +
                               " bytes");
  }
  if (ec == bhttp::error::end_of_stream ||
      ec == bhttp::error::partial_message ||
      ec.category() !=
          bhttp::make_error_code(bhttp::error::bad_method).category()) {
    return std::nullopt;
  }
  return ProblemResponse(400, "bad_request",
                         "malformed HTTP request: " + ec.message());
}

bool ExpectsContinue(const bhttp::request_header<>& header) {
  return absl::EqualsIgnoreCase(ToAbsl(View(header[bhttp::field::expect])),
                                "100-continue");
}

std::optional<Request> ToRequest(const bhttp::request_header<>& message,
                                 const std::string& peer) {
  std::string_view target = View(message.target());
  if (target.empty() || target.front() != '/') return std::nullopt;
  Request request;
  size_t question = target.find('?');
  request.path = target.substr(0, question);
  if (!PercentDecode(request.path, false)) return std::nullopt;
  if (question != std::string_view::npos) {
    auto query = ParseQuery(target.substr(question + 1));
    if (!query) return std::nullopt;
    request.query = std::move(*query);
  }
  request.method = View(message.method_string());
  for (const auto& field : message) {
    request.headers.Set(View(field.name_string()), View(field.value()));
  }
  request.peer = peer;
  return request;
}

}  // namespace graphdbg::http
