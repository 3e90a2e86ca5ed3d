// So many per second, and no more.
#ifndef SERVER_BASE_RATE_LIMIT_H_
#define SERVER_BASE_RATE_LIMIT_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace graphdbg {

// A token bucket that holds a second's worth. Not thread safe.
class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;

  RateLimit(uint64_t per_second, Clock::time_point now)
      : per_second_(per_second), left_(per_second), at_(now) {}

  // How many of `wanted` may be had now.
  uint64_t Take(uint64_t wanted, Clock::time_point now) {
    const std::chrono::duration<double> since = now - at_;
    const auto more = static_cast<uint64_t>(std::min(since.count(), 1.0) *
                                            static_cast<double>(per_second_));
    if (more > 0) {
      left_ = std::min(left_ + more, per_second_);
      at_ = now;
    }
    const uint64_t taken = std::min(wanted, left_);
    left_ -= taken;
    return taken;
  }

 private:
  const uint64_t per_second_;
  uint64_t left_;
  Clock::time_point at_;
};

}  // namespace graphdbg

#endif  // SERVER_BASE_RATE_LIMIT_H_
