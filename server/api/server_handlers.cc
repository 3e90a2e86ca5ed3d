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

Answer GetServer(const Services& services, const http::Request&) {
  const ServerIdentity& identity = services.identity;
  Json json = {{"name", "graphdbg"},
               {"version", identity.version},
               {"http_address", identity.http_address},
               {"debugger_address", identity.debugger_address},
               {"viewers", services.directory.CountViewers()},
               {"attaches", services.run_command != nullptr},
               {"storage", Encode(services.storage())}};
  if (const auto& memory = services.memory) {
    json["memory"] = {{"used_bytes", memory->used()},
                      {"limit_bytes", memory->limit()}};
  }
  co_return JsonResponse(json);
}

}  // namespace graphdbg::api
