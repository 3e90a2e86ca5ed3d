// Named tokens and the sessions of pages.
#ifndef SERVER_AUTH_CREDENTIAL_STORE_H_
#define SERVER_AUTH_CREDENTIAL_STORE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/auth/principal.h"

namespace graphdbg::auth {

struct Credential {
  Principal holder;
  absl::Time created_at;
};

// A credential with its secret, which is shown once and stored as a hash only.
struct IssuedToken {
  std::string token;
  Credential credential;
};

// Thread-safe. Keeps the credentials in a file, so that they outlive the
// server.
class CredentialStore {
 public:
  // If `file` is empty, the credentials end with this object. `owner_token` is
  // the token of the data directory: its sessions end when it has changed.
  CredentialStore(std::string file, std::string_view owner_token,
                  absl::Time now);

  // Why the credentials in the file were not loaded; empty if they were.
  const std::string& warning() const { return warning_; }

  // Creates a token or session; `holder.id` is assigned here. UNAVAILABLE
  // "not_kept" if the file cannot be written, except for a session, which then
  // ends with the server. RESOURCE_EXHAUSTED "too_many_tokens".
  absl::StatusOr<IssuedToken> Issue(Principal holder, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mu_);

  // The holder of a token or session that is valid now.
  std::optional<Principal> Find(std::string_view token, absl::Time now) const
      ABSL_LOCKS_EXCLUDED(mu_);
  bool IsValid(std::string_view id, absl::Time now) const
      ABSL_LOCKS_EXCLUDED(mu_);
  // All that are valid now, oldest first.
  std::vector<Credential> List(absl::Time now) const ABSL_LOCKS_EXCLUDED(mu_);

  // Ends a token or session and all sessions that it let in. NOT_FOUND
  // "unknown_token". UNAVAILABLE "not_kept" if the file cannot be written: the
  // credential has ended, but would be valid again after a restart.
  absl::Status Revoke(std::string_view id) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Record {
    Credential credential;
    std::string hash;
  };

  absl::Status Load(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Save() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Ends a credential and the sessions below it. Returns how many have ended.
  size_t End(std::string_view id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status MakeRoom(bool for_session, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string file_;
  const std::string owner_hash_;
  std::string warning_;
  mutable absl::Mutex mu_;
  // Oldest first.
  std::vector<Record> records_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::auth

#endif  // SERVER_AUTH_CREDENTIAL_STORE_H_
