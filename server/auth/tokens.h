// Secret tokens and the files that store them.
#ifndef SERVER_AUTH_TOKENS_H_
#define SERVER_AUTH_TOKENS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace graphdbg::auth {

// Returns 256 random bits as 43 URL-safe characters. UNAVAILABLE if the system
// provides no random data.
absl::StatusOr<std::string> RandomToken();

// Returns 48 random bits as 12 hexadecimal digits, to name a token without
// revealing it.
absl::StatusOr<std::string> RandomId();

// Returns the token in the file. Creates the file, with mode 0600, if it does
// not exist. Replaces a token that other users could have read or written, and
// a link or a pipe, which it neither follows nor waits for. PERMISSION_DENIED
// or UNAVAILABLE, naming the file, if that fails.
absl::StatusOr<std::string> LoadOrCreateToken(const std::string& file);

// SHA-256 in hexadecimal digits. Tokens are random, so they need no salt.
std::string HashOf(std::string_view secret);

// Compares in constant time, so that timing does not reveal where the texts
// differ.
bool SameSecret(std::string_view a, std::string_view b);

}  // namespace graphdbg::auth

#endif  // SERVER_AUTH_TOKENS_H_
