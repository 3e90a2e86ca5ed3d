#include "proto/wire/status_macros.h"
#include "server/api/decode.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"
#include "server/api/metrics.h"
#include "server/api/openapi.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

http::Response TextResponse(std::string text, std::string_view type) {
  http::Response response;
  response.headers.Set("Content-Type", type);
  response.headers.Set("Cache-Control", "no-store");
  response.body = std::move(text);
  return response;
}

constexpr char kPlainText[] = "text/plain; charset=utf-8";

}  // namespace

Answer Livez(const Services&, const http::Request&) {
  co_return TextResponse("ok\n", kPlainText);
}

Answer Readyz(const Services& services, const http::Request&) {
  if (!services.ready()) {
    co_return Error(absl::StatusCode::kUnavailable, "not_ready",
                    "the server is starting or stopping");
  }
  const model::Storage storage = services.storage();
  if (storage.failing) {
    co_return Error(absl::StatusCode::kUnavailable, "not_kept", storage.reason);
  }
  co_return TextResponse("ok\n", kPlainText);
}

Answer GetMetrics(const Services& services, const http::Request&) {
  std::string text = co_await MetricsText(services);
  co_return TextResponse(std::move(text), "text/plain; version=0.0.4");
}

Answer GetOpenApi(const Services&, const http::Request&) {
  http::Response response;
  response.headers.Set("Content-Type", "application/json");
  response.static_body = OpenApiJson();
  co_return response;
}

Answer Login(const Services& services, const http::Request& request) {
  CO_ASSIGN_OR_RETURN(const std::string code, DecodeLogin(request.body));
  CO_ASSIGN_OR_RETURN(const std::string token, services.auth.Redeem(code));
  co_return JsonResponse({{"token", token}});
}

Answer IssueLoginCode(const Services& services, const http::Request&) {
  CO_ASSIGN_OR_RETURN(const std::string code, services.auth.IssueCode());
  co_return JsonResponse({{"code", code}}, 201);
}

Answer GetServer(const Services& services, const http::Request&) {
  const ServerIdentity& identity = services.identity;
  co_return JsonResponse({{"name", "graphdbg"},
                          {"version", identity.version},
                          {"http_address", identity.http_address},
                          {"debugger_address", identity.debugger_address},
                          {"storage", Encode(services.storage())}});
}

}  // namespace graphdbg::api
