#include "server/auth/embed_keys.h"

#include <algorithm>

#include "proto/wire/status_macros.h"
#include "server/auth/tokens.h"

namespace graphdbg::auth {
namespace {

// Beyond it, the oldest key is withdrawn.
constexpr size_t kMaxKeys = 64;

}  // namespace

absl::StatusOr<std::string> EmbedKeys::Issue(Clock::time_point now) {
  ASSIGN_OR_RETURN(const std::string key, RandomToken());
  absl::MutexLock lock(&mu_);
  std::erase_if(keys_,
                [now](const Key& known) { return known.expires_at <= now; });
  if (keys_.size() == kMaxKeys) keys_.erase(keys_.begin());
  keys_.push_back({HashOf(key), now + kEmbedKeyLifetime});
  return key;
}

bool EmbedKeys::IsValid(std::string_view key, Clock::time_point now) const {
  const std::string hash = HashOf(key);
  absl::MutexLock lock(&mu_);
  return std::any_of(keys_.begin(), keys_.end(), [&](const Key& known) {
    return known.expires_at > now && SameSecret(known.hash, hash);
  });
}

}  // namespace graphdbg::auth
