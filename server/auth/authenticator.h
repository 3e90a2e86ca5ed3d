// Who may use the server.
#ifndef SERVER_AUTH_AUTHENTICATOR_H_
#define SERVER_AUTH_AUTHENTICATOR_H_

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg::auth {

struct Secrets {
  // For pages and programs; opens the agents' port too.
  std::string api_token;
  // For training jobs: opens the agents' port only.
  std::string agent_token;
};

// Reads or makes <data_dir>/token and <data_dir>/agent_token.
absl::StatusOr<Secrets> LoadSecrets(const std::string& data_dir);

// Safe from any thread.
class Authenticator {
 public:
  // `required` false: everything is allowed (--no-auth).
  Authenticator(Secrets secrets, bool required);

  bool required() const { return required_; }
  const std::string& api_token() const { return secrets_.api_token; }

  // UNAUTHENTICATED "missing_token" or "invalid_token".
  absl::Status CheckApi(std::string_view token) const;
  // From an Authorization header.
  absl::Status CheckAuthorization(std::string_view header) const;
  // A job on this machine may come without a token: its user could read the
  // token anyway. A token that is given must be right.
  absl::Status CheckAgent(std::string_view token, std::string_view peer) const;

  // A code that Redeem takes once.
  absl::StatusOr<std::string> IssueCode();
  // The API token. UNAUTHENTICATED "invalid_code" if the code was never
  // issued or has been used.
  absl::StatusOr<std::string> Redeem(std::string_view code);

 private:
  const Secrets secrets_;
  const bool required_;
  // Guards what follows. Of the standard library, which the thread sanitizer
  // sees into.
  std::mutex mu_;
  std::vector<std::string> codes_;
};

}  // namespace graphdbg::auth

#endif  // SERVER_AUTH_AUTHENTICATOR_H_
