// One-time codes and the sessions that they buy.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/api/audit_trail.h"
#include "server/api/caller.h"
#include "server/api/decode.h"
#include "server/api/embedding.h"
#include "server/api/encode_auth.h"
#include "server/api/handlers.h"

namespace graphdbg::api {
namespace {

absl::StatusOr<auth::IssuedToken> Redeem(const Services& services,
                                         const http::Request& request) {
  ASSIGN_OR_RETURN(const std::string code, DecodeLogin(request.body));
  return services.auth.Redeem(code);
}

}  // namespace

bool IsEmbedded(const auth::Authenticator& auth, const http::Request& request) {
  if (request.path != "/") return false;
  const auto key = std::find_if(
      request.query.begin(), request.query.end(),
      [](const auto& parameter) { return parameter.first == kEmbedParameter; });
  return key != request.query.end() && auth.IsEmbedKey(key->second);
}

Answer Login(const Services& services, const http::Request& request) {
  const absl::StatusOr<auth::IssuedToken> session = Redeem(services, request);
  if (!session.ok()) {
    services.audit.RecordRefused(
        EntryOf(CallerOf(request), request, "login", session.status()));
    co_return session.status();
  }
  const auth::Principal& holder = session->credential.holder;
  audit::Entry entry = EntryOf(holder, request, "login", absl::OkStatus());
  entry.detail = "session " + holder.id;
  services.audit.Record(entry);
  Json json = EncodePrincipal(holder);
  json["token"] = session->token;
  co_return JsonResponse(json);
}

Answer IssueLoginCode(const Services& services, const http::Request& request) {
  const auth::Principal& caller = CallerOf(request);
  CO_ASSIGN_OR_RETURN(LoginCodeRequest wanted,
                      DecodeLoginCodeRequest(request.body, caller));
  Note(request, "for " + DescribeRole(wanted.name, wanted.role) +
                    (wanted.embed ? ", in a frame" : ""));
  CO_ASSIGN_OR_RETURN(
      const auth::LoginCode code,
      services.auth.IssueCode(caller, std::move(wanted.name), wanted.role));
  std::string path = "/";
  if (wanted.embed) {
    CO_ASSIGN_OR_RETURN(const std::string key, services.auth.IssueEmbedKey());
    path += absl::StrCat("?", kEmbedParameter, "=", key);
  }
  co_return JsonResponse({{"code", code.code},
                          {"expires_at", EncodeTime(code.expires_at)},
                          {"path", path}},
                         201);
}

Answer GetSession(const Services&, const http::Request& request) {
  co_return JsonResponse(EncodePrincipal(CallerOf(request)));
}

Answer EndSession(const Services& services, const http::Request& request) {
  const auth::Principal& caller = CallerOf(request);
  Note(request, "session " + caller.id);
  const absl::Status ended = services.auth.EndSession(caller);
  // Event streams of the session notice that it has ended.
  services.events.WakeAll();
  CO_RETURN_IF_ERROR(ended);
  http::Response response;
  response.status = 204;
  co_return response;
}

}  // namespace graphdbg::api
