#include "server/api/login_limit.h"

#include <algorithm>

namespace graphdbg::api {
namespace {

// Bounds the memory. Beyond it, failures of further addresses do not count.
constexpr size_t kMaxAddresses = 4'096;

}  // namespace

bool LoginLimit::MustWait(std::string_view address,
                          Clock::time_point now) const {
  absl::MutexLock lock(&mu_);
  const auto found = forgiven_at_.find(address);
  return found != forgiven_at_.end() &&
         found->second - now > (kFailures - 1) * kInterval;
}

void LoginLimit::AddFailure(std::string_view address, Clock::time_point now) {
  absl::MutexLock lock(&mu_);
  auto found = forgiven_at_.find(address);
  if (found == forgiven_at_.end()) {
    if (forgiven_at_.size() == kMaxAddresses) {
      std::erase_if(forgiven_at_,
                    [now](const auto& entry) { return entry.second <= now; });
    }
    if (forgiven_at_.size() == kMaxAddresses) return;
    found = forgiven_at_.emplace(address, now).first;
  }
  found->second = std::max(found->second, now) + kInterval;
}

}  // namespace graphdbg::api
