#include "server/auth/login_codes.h"

#include <utility>

#include "proto/wire/status_macros.h"
#include "server/auth/tokens.h"
#include "server/base/error.h"

namespace graphdbg::auth {
namespace {

// Beyond it, the oldest unused code is withdrawn.
constexpr size_t kMaxCodes = 64;

}  // namespace

absl::StatusOr<std::string> LoginCodes::Issue(Principal holder,
                                              Clock::time_point now) {
  ASSIGN_OR_RETURN(const std::string code, RandomToken());
  absl::MutexLock lock(&mu_);
  std::erase_if(codes_,
                [now](const Code& known) { return known.expires_at <= now; });
  if (codes_.size() == kMaxCodes) codes_.erase(codes_.begin());
  codes_.push_back({HashOf(code), std::move(holder), now + kCodeLifetime});
  return code;
}

absl::StatusOr<Principal> LoginCodes::Redeem(std::string_view code,
                                             Clock::time_point now) {
  const std::string hash = HashOf(code);
  absl::MutexLock lock(&mu_);
  std::erase_if(codes_,
                [now](const Code& known) { return known.expires_at <= now; });
  for (auto known = codes_.begin(); known != codes_.end(); ++known) {
    if (!SameSecret(known->hash, hash)) continue;
    Principal holder = std::move(known->holder);
    codes_.erase(known);
    return holder;
  }
  return InvalidCode();
}

absl::Status InvalidCode() {
  return Error(absl::StatusCode::kUnauthenticated, "invalid_code",
               "the one-time code of this address has expired or has already "
               "been used: codes are valid for 60 seconds; run 'graphdbg url' "
               "on the server's machine to print a new address");
}

}  // namespace graphdbg::auth
