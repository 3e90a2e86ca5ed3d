// The bytes that a stranger sends to the HTTP port: parser, limits, checks,
// routes, uploads. Whatever they are, only requests that pass their checks
// reach a handler, bodies keep within the limit of their route, and every
// answer is HTTP and carries the security headers.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/problem.h"
#include "server/http/router.h"
#include "tests/fuzz/http_peer.h"

namespace graphdbg::http {
namespace {

namespace asio = boost::asio;

constexpr uint64_t kSmall = 64;

asio::awaitable<Response> Echo(Request request) {
  if (request.body.size() > kSmall) std::abort();
  if (request.headers.Get("Host").empty()) std::abort();
  Response response;
  response.body = request.method + request.path + request.body;
  for (const auto& [name, value] : request.query) response.body += name + value;
  for (const auto& [name, value] : request.path_params) response.body += value;
  co_return response;
}

asio::awaitable<Response> Count(Request request) {
  Response response;
  size_t bytes = 0;
  absl::StatusOr<std::string> piece = co_await request.next_piece();
  while (piece.ok() && !piece->empty()) {
    bytes += piece->size();
    piece = co_await request.next_piece();
  }
  if (bytes > kSmall) std::abort();
  response.body = std::to_string(bytes);
  co_return response;
}

asio::awaitable<Response> Unreachable(Request) {
  std::abort();
  co_return Response();
}

std::shared_ptr<Router> MakeRouter() {
  auto router = std::make_shared<Router>();
  RouteOptions small;
  small.max_body_bytes = kSmall;
  RouteOptions closed;
  closed.check = [](Request&) {
    return std::optional(ProblemResponse(401, "missing_token", "no"));
  };
  router->Add("GET", "/jobs/{job}", Echo, small);
  router->Add("PATCH", "/jobs/{job}/watchpoints/{watchpoint}", Echo, small);
  router->Add("POST", "/login", Echo, small);
  router->Add("POST", "/closed", Unreachable, closed);
  router->AddUpload("POST", "/graphs", Count, small);
  router->AddUpload("PUT", "/graphs", Unreachable, closed);
  return router;
}

void Take(std::string_view input) {
  static auto* const peer = new HttpPeer(MakeRouter());
  const std::string answer = peer->Exchange(input);
  if (answer.empty()) return;
  if (answer.rfind("HTTP/1.1 ", 0) != 0) std::abort();
  // Only an interim answer has none.
  if (answer.rfind("HTTP/1.1 100", 0) != 0 &&
      answer.find("X-Content-Type-Options: nosniff") == std::string::npos) {
    std::abort();
  }
}

}  // namespace
}  // namespace graphdbg::http

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  graphdbg::http::Take({reinterpret_cast<const char*>(data), size});
  return 0;
}
