// Decides which clients and agents may use the server.
#ifndef SERVER_AUTH_AUTHENTICATOR_H_
#define SERVER_AUTH_AUTHENTICATOR_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace graphdbg::auth {

struct Secrets {
  // Grants access to the HTTP API and to the agent port.
  std::string api_token;
  // Grants access to the agent port only.
  std::string agent_token;
};

// Reads <data_dir>/token and <data_dir>/agent_token, and creates missing ones.
absl::StatusOr<Secrets> LoadSecrets(const std::string& data_dir);

// Thread-safe.
class Authenticator {
 public:
  // If `required` is false (--no-auth), every check succeeds.
  Authenticator(Secrets secrets, bool required);

  bool required() const { return required_; }
  const std::string& api_token() const { return secrets_.api_token; }

  // UNAUTHENTICATED "missing_token" or "invalid_token".
  absl::Status CheckApi(std::string_view token) const;
  // Checks the token in an Authorization header.
  absl::Status CheckAuthorization(std::string_view header) const;
  // An agent on this machine needs no token, because its user could read the
  // token file anyway. If it presents a token, the token must be valid.
  absl::Status CheckAgent(std::string_view token, std::string_view peer) const;

  // Returns a code that can be redeemed once.
  absl::StatusOr<std::string> IssueCode();
  // Returns the API token, or UNAUTHENTICATED "invalid_code" if the code was
  // never issued or has already been used.
  absl::StatusOr<std::string> Redeem(std::string_view code);

 private:
  const Secrets secrets_;
  const bool required_;
  absl::Mutex mu_;
  // Oldest first.
  std::vector<std::string> codes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::auth

#endif  // SERVER_AUTH_AUTHENTICATOR_H_
