// One-time codes, with which an address of the page logs in.
#ifndef SERVER_AUTH_LOGIN_CODES_H_
#define SERVER_AUTH_LOGIN_CODES_H_

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/auth/principal.h"

namespace graphdbg::auth {

inline constexpr std::chrono::seconds kCodeLifetime{60};

// UNAUTHENTICATED "invalid_code", with what to do.
absl::Status InvalidCode();

// Thread-safe. Codes are stored as hashes.
class LoginCodes {
 public:
  // Not the clock of the system, which can be set back.
  using Clock = std::chrono::steady_clock;

  // Returns a code for a session of `holder`.
  absl::StatusOr<std::string> Issue(Principal holder, Clock::time_point now)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Returns the holder, once. UNAUTHENTICATED "invalid_code" if the code was
  // never issued, has been used, or has expired.
  absl::StatusOr<Principal> Redeem(std::string_view code, Clock::time_point now)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Code {
    std::string hash;
    Principal holder;
    Clock::time_point expires_at;
  };

  absl::Mutex mu_;
  // Oldest first.
  std::vector<Code> codes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::auth

#endif  // SERVER_AUTH_LOGIN_CODES_H_
