#include "agent/core/host_level.h"

#include <thread>

namespace graphdbg::agent {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(2);

}  // namespace

void HostLevel::Set(int level) {
  level_ = level;
  Deliver();
}

// The analysis cannot follow a lock that is tried in a loop.
bool HostLevel::TryLockUntil(std::chrono::steady_clock::time_point deadline)
    GRAPHDBG_NO_THREAD_SAFETY_ANALYSIS {
  while (!delivery_mu_.TryLock()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

void HostLevel::Deliver() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    if (!TryLockUntil(deadline)) return;
    MutexLock lock(&delivery_mu_, AdoptLock());
    const int level = wanted();
    if (level == delivered_) return;
    delivered_ = level;
    host_->SetLevel(level);
  }
}

}  // namespace graphdbg::agent
