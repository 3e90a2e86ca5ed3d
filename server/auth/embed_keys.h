// Keys of addresses at which editors may show the page in a frame.
#ifndef SERVER_AUTH_EMBED_KEYS_H_
#define SERVER_AUTH_EMBED_KEYS_H_

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace graphdbg::auth {

// As long as a session lives, so that the frame can be reloaded.
inline constexpr std::chrono::hours kEmbedKeyLifetime{12};

// Thread-safe. Keys are stored as hashes. A key gives no access: the page that
// it lets a frame show needs a code or a token, as any page does.
class EmbedKeys {
 public:
  // Not the clock of the system, which can be set back.
  using Clock = std::chrono::steady_clock;

  absl::StatusOr<std::string> Issue(Clock::time_point now)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Whether the key was issued and has not expired.
  bool IsValid(std::string_view key, Clock::time_point now) const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Key {
    std::string hash;
    Clock::time_point expires_at;
  };

  mutable absl::Mutex mu_;
  // Oldest first.
  std::vector<Key> keys_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::auth

#endif  // SERVER_AUTH_EMBED_KEYS_H_
