// Addresses at which editors may show the page in a frame.
#ifndef SERVER_API_EMBEDDING_H_
#define SERVER_API_EMBEDDING_H_

#include "server/auth/authenticator.h"
#include "server/http/message.h"

namespace graphdbg::api {

// The parameter of the page's address with the key.
inline constexpr char kEmbedParameter[] = "embed";

// Whether the request is for the page at an address that POST /login/codes has
// returned for a frame.
bool IsEmbedded(const auth::Authenticator& auth, const http::Request& request);

}  // namespace graphdbg::api

#endif  // SERVER_API_EMBEDDING_H_
