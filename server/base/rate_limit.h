// Limits the rate of events.
#ifndef SERVER_BASE_RATE_LIMIT_H_
#define SERVER_BASE_RATE_LIMIT_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace graphdbg {

// A token bucket that holds the tokens of one second. Not thread safe.
class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;

  RateLimit(uint64_t per_second, Clock::time_point now)
      : per_second_(per_second), available_(per_second), at_(now) {}

  // Takes up to `wanted` tokens and returns how many were available.
  uint64_t Take(uint64_t wanted, Clock::time_point now) {
    const std::chrono::duration<double> since = now - at_;
    const auto refill = static_cast<uint64_t>(std::min(since.count(), 1.0) *
                                              static_cast<double>(per_second_));
    if (refill > 0) {
      available_ = std::min(available_ + refill, per_second_);
      at_ = now;
    }
    const uint64_t taken = std::min(wanted, available_);
    available_ -= taken;
    return taken;
  }

 private:
  const uint64_t per_second_;
  uint64_t available_;
  Clock::time_point at_;
};

}  // namespace graphdbg

#endif  // SERVER_BASE_RATE_LIMIT_H_
