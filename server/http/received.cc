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

// Browsers send about 20.
constexpr int kMaxFields = 100;

std::string_view View(beast::string_view text) {
  return {text.data(), text.size()};
}

// Headers that decide about access. Of two, this server and a proxy before it
// could believe different ones.
bool IsSingle(bhttp::field field, std::string_view name) {
  switch (field) {
    case bhttp::field::host:
    case bhttp::field::origin:
    case bhttp::field::authorization:
    case bhttp::field::content_type:
      return true;
    default:
      return absl::StartsWithIgnoreCase(ToAbsl(name), "Sec-Fetch-");
  }
}

absl::Status BadTarget() {
  return absl::InvalidArgumentError(
      "the request target is not a path or is not correctly percent-encoded");
}

}  // namespace

std::optional<Response> ReadProblem(const error_code& ec,
                                    uint64_t max_header_bytes,
                                    uint64_t max_body_bytes) {
  if (ec == beast::error::timeout) {
    return ProblemResponse(408, "request_timeout",
                           "the request took too long to arrive");
  }
  if (ec == bhttp::error::header_limit) {
    return ProblemResponse(431, "header_too_large",
                           "the request header exceeds the limit of " +
                               std::to_string(max_header_bytes) + " bytes");
  }
  if (ec == bhttp::error::body_limit) {
    return ProblemResponse(413, "body_too_large",
                           "the request body exceeds the limit of " +
                               std::to_string(max_body_bytes) + " bytes");
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

absl::StatusOr<Request> ToRequest(const bhttp::request_header<>& message,
                                  const std::string& peer) {
  const std::string_view target = View(message.target());
  if (target.empty() || target.front() != '/') return BadTarget();
  Request request;
  const size_t question = target.find('?');
  request.path = target.substr(0, question);
  if (!PercentDecode(request.path, false)) return BadTarget();
  if (question != std::string_view::npos) {
    auto query = ParseQuery(target.substr(question + 1));
    if (!query) return BadTarget();
    request.query = std::move(*query);
  }
  request.method = View(message.method_string());
  int fields = 0;
  for (const auto& field : message) {
    const std::string_view name = View(field.name_string());
    if (++fields > kMaxFields) {
      return absl::ResourceExhaustedError("the request has more than " +
                                          std::to_string(kMaxFields) +
                                          " header fields");
    }
    if (IsSingle(field.name(), name) && request.headers.Has(name)) {
      return absl::InvalidArgumentError("the request has several headers '" +
                                        std::string(name) + "'");
    }
    request.headers.Set(name, View(field.value()));
  }
  request.peer = peer;
  return request;
}

}  // namespace graphdbg::http
