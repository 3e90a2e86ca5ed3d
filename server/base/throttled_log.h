// Log lines for events that strangers can cause as often as they like.
#ifndef SERVER_BASE_THROTTLED_LOG_H_
#define SERVER_BASE_THROTTLED_LOG_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace graphdbg {

// Writes one line a minute for each cause. Thread-safe.
class ThrottledLog {
 public:
  using Clock = std::chrono::steady_clock;

  // `log` receives the lines, on any thread. May be null.
  explicit ThrottledLog(std::function<void(std::string_view)> log)
      : log_(std::move(log)) {}

  // Writes the line, or counts it if the cause had one in the last minute. A
  // line gives how many were counted since the one before it. There should be
  // few causes: they are kept forever.
  void Write(const std::string& cause, std::string_view line,
             Clock::time_point now = Clock::now()) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Cause {
    Clock::time_point written;
    uint64_t counted = 0;
  };

  const std::function<void(std::string_view)> log_;
  absl::Mutex mu_;
  std::map<std::string, Cause> causes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg

#endif  // SERVER_BASE_THROTTLED_LOG_H_
