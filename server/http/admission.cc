#include "server/http/admission.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "server/http/problem.h"

namespace graphdbg::http {
namespace {

Response MethodNotAllowed(const std::vector<std::string>& allow) {
  const std::string list = absl::StrJoin(allow, ", ");
  Response response = ProblemResponse(405, "method_not_allowed",
                                      "this path supports only " + list);
  response.headers.Set("Allow", list);
  return response;
}

Response UpgradeRequired() {
  Response response =
      ProblemResponse(426, "upgrade_required",
                      "this path is a WebSocket; send an upgrade request");
  response.headers.Set("Upgrade", "websocket");
  return response;
}

std::optional<Response> CheckMatch(const Request& request,
                                   const Router::Match& match,
                                   bool is_upgrade) {
  if (!match.allow.empty()) return MethodNotAllowed(match.allow);
  if (match.channel != nullptr && !is_upgrade) return UpgradeRequired();
  if (match.channel == nullptr && match.handler == nullptr) {
    return ProblemResponse(404, "not_found", "no resource at " + request.path);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Response> CheckRequest(Request& request, const Router& router,
                                     const Site& site, bool is_upgrade,
                                     Router::Match& match) {
  if (auto refusal = CheckSource(request, site)) return refusal;
  match = router.Find(request.method, request.path);
  if (auto refusal = CheckMatch(request, match, is_upgrade)) return refusal;
  const BodyKind kind = match.is_upload ? BodyKind::kBytes : BodyKind::kJson;
  if (auto refusal = CheckContentType(request, kind)) return refusal;
  request.path_params = std::move(match.params);
  const Check& check = match.options->check;
  return check ? check(request) : std::nullopt;
}

}  // namespace graphdbg::http
