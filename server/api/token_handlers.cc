// Named tokens, and the audit log of what their holders do.
#include "proto/wire/status_macros.h"
#include "server/api/arguments.h"
#include "server/api/caller.h"
#include "server/api/decode.h"
#include "server/api/encode_auth.h"
#include "server/api/handlers.h"

namespace graphdbg::api {
namespace {

constexpr uint32_t kDefaultEntries = 100;
constexpr uint32_t kMaxEntries = 1'000;

}  // namespace

Answer ListTokens(const Services& services, const http::Request&) {
  Json tokens = Json::array();
  Json sessions = Json::array();
  for (const auth::Credential& credential : services.auth.Credentials()) {
    Json& list = credential.holder.is_session ? sessions : tokens;
    list.push_back(EncodeCredential(credential));
  }
  co_return JsonResponse(
      {{"tokens", std::move(tokens)}, {"sessions", std::move(sessions)}});
}

Answer CreateToken(const Services& services, const http::Request& request) {
  CO_ASSIGN_OR_RETURN(TokenRequest wanted, DecodeTokenRequest(request.body));
  Note(request, DescribeRole(wanted.name, wanted.role));
  const absl::Time expires_at = services.auth.Now() + wanted.lifetime;
  CO_ASSIGN_OR_RETURN(const auth::IssuedToken issued,
                      services.auth.CreateToken(std::move(wanted.name),
                                                wanted.role, expires_at));
  const auth::Principal& holder = issued.credential.holder;
  Note(request,
       "token " + holder.id + ": " + DescribeRole(holder.name, holder.role));
  Json json = EncodeCredential(issued.credential);
  json["token"] = issued.token;
  http::Response response = JsonResponse(json, 201);
  response.headers.Set("Location", request.path + "/" + holder.id);
  co_return response;
}

Answer RevokeToken(const Services& services, const http::Request& request) {
  const std::string& id = request.path_params.at("token");
  Note(request, "token " + id);
  const absl::Status revoked = services.auth.Revoke(id);
  // Event streams notice that their sessions have ended.
  services.events.WakeAll();
  CO_RETURN_IF_ERROR(revoked);
  http::Response response;
  response.status = 204;
  co_return response;
}

Answer ReadAudit(const Services& services, const http::Request& request) {
  Arguments arguments(request);
  const auto limit = static_cast<uint32_t>(
      arguments.Integer("limit", 1, kMaxEntries).value_or(kDefaultEntries));
  const std::string cursor = arguments.Text("cursor");
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const audit::AuditLog::Page page,
                      services.audit.Read(limit, cursor));
  Json entries = Json::array();
  for (const std::string& line : page.entries) {
    Json entry = Json::parse(line, nullptr, false);
    // A server that was killed may have left a part of a line.
    if (entry.is_object()) entries.push_back(std::move(entry));
  }
  co_return JsonResponse(
      {{"entries", std::move(entries)},
       {"next_cursor",
        page.next_cursor.empty() ? Json() : Json(page.next_cursor)}});
}

}  // namespace graphdbg::api
