// Secrets and where they are kept.
#ifndef SERVER_AUTH_TOKENS_H_
#define SERVER_AUTH_TOKENS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace graphdbg::auth {

// 256 random bits as 43 characters that a URL takes unchanged. UNAVAILABLE if
// the system gives no randomness.
absl::StatusOr<std::string> RandomToken();

// The token in the file, made with mode 0600 if there is none. A token that
// others could have read or written is replaced. PERMISSION_DENIED or
// UNAVAILABLE, naming the file, if that cannot be done.
absl::StatusOr<std::string> LoadOrCreateToken(const std::string& file);

// In a time that does not depend on where they differ.
bool SameSecret(std::string_view a, std::string_view b);

}  // namespace graphdbg::auth

#endif  // SERVER_AUTH_TOKENS_H_
