#include "server/http/problem.h"

#include <boost/beast/http/status.hpp>
#include <nlohmann/json.hpp>

namespace graphdbg::http {

std::string_view ReasonPhrase(int status) {
  boost::beast::string_view phrase = boost::beast::http::obsolete_reason(
      boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  return {phrase.data(), phrase.size()};
}

Response ProblemResponse(int status, std::string_view code,
                         std::string_view detail, std::string_view field,
                         std::optional<int> column) {
  nlohmann::ordered_json problem = {{"type", "about:blank"},
                                    {"title", ReasonPhrase(status)},
                                    {"status", status},
                                    {"detail", detail},
                                    {"code", code}};
  if (!field.empty()) problem["field"] = field;
  if (column) problem["column"] = *column;
  Response response;
  response.status = status;
  response.headers.Set("Content-Type", "application/problem+json");
  response.headers.Set("Cache-Control", "no-store");
  if (status == 401) response.headers.Set("WWW-Authenticate", "Bearer");
  // Details quote input from peers, which may not be UTF-8.
  response.body =
      problem.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return response;
}

}  // namespace graphdbg::http
