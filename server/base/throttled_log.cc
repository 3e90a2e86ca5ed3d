#include "server/base/throttled_log.h"

namespace graphdbg {
namespace {

constexpr std::chrono::minutes kInterval{1};

}  // namespace

void ThrottledLog::Write(const std::string& cause, std::string_view line,
                         Clock::time_point now) {
  if (!log_) return;
  std::string text(line);
  {
    absl::MutexLock lock(&mu_);
    const auto [found, is_new] = causes_.try_emplace(cause, Cause{now, 0});
    Cause& last = found->second;
    if (!is_new && now - last.written < kInterval) {
      ++last.counted;
      return;
    }
    if (last.counted > 0) {
      text += " (and " + std::to_string(last.counted) +
              " times more since the last such line)";
    }
    last = {now, 0};
  }
  log_(text);
}

}  // namespace graphdbg
