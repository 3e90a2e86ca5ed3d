// Limits how often one address may fail to log in.
#ifndef SERVER_API_LOGIN_LIMIT_H_
#define SERVER_API_LOGIN_LIMIT_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace graphdbg::api {

// Thread-safe. Codes cannot be guessed; this keeps a client that tries from
// using up the server's time.
class LoginLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // Failures in a row before an address has to wait, and how soon it may fail
  // once more.
  static constexpr uint32_t kFailures = 20;
  static constexpr std::chrono::seconds kInterval{1};

  bool MustWait(std::string_view address, Clock::time_point now) const
      ABSL_LOCKS_EXCLUDED(mu_);
  void AddFailure(std::string_view address, Clock::time_point now)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable absl::Mutex mu_;
  // Each failure moves the time of its address by one interval. An address must
  // wait while its time is more than kFailures intervals from now.
  std::map<std::string, Clock::time_point, std::less<>> forgiven_at_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::api

#endif  // SERVER_API_LOGIN_LIMIT_H_
