// JSON of tokens, sessions and roles.
#ifndef SERVER_API_ENCODE_AUTH_H_
#define SERVER_API_ENCODE_AUTH_H_

#include <string>

#include "absl/time/time.h"
#include "server/api/json.h"
#include "server/auth/credential_store.h"
#include "server/auth/principal.h"

namespace graphdbg::api {

// Null for a time that never comes.
Json EncodeTime(absl::Time time);
Json EncodePrincipal(const auth::Principal& principal);
Json EncodeCredential(const auth::Credential& credential);

// "alice (control)", for the audit log.
std::string DescribeRole(const std::string& name, auth::Role role);

}  // namespace graphdbg::api

#endif  // SERVER_API_ENCODE_AUTH_H_
