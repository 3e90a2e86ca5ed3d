#include "server/api/encode_auth.h"

namespace graphdbg::api {

Json EncodeTime(absl::Time time) {
  if (time == absl::InfiniteFuture()) return nullptr;
  return TimeText(absl::ToUnixNanos(time));
}

Json EncodePrincipal(const auth::Principal& principal) {
  return {{"name", principal.name},
          {"role", auth::ToString(principal.role)},
          {"expires_at", EncodeTime(principal.expires_at)}};
}

Json EncodeCredential(const auth::Credential& credential) {
  Json json = {{"id", credential.holder.id}};
  json.update(EncodePrincipal(credential.holder));
  json["created_at"] = EncodeTime(credential.created_at);
  return json;
}

std::string DescribeRole(const std::string& name, auth::Role role) {
  return name + " (" + std::string(auth::ToString(role)) + ")";
}

}  // namespace graphdbg::api
