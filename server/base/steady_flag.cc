#include "server/base/steady_flag.h"

namespace graphdbg {
namespace {

// The mutex under the names that std::condition_variable_any expects.
struct Lockable {
  void lock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mu->Lock(); }
  void unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mu->Unlock(); }

  absl::Mutex* mu;
};

}  // namespace

void SteadyFlag::Set() {
  absl::MutexLock lock(&mu_);
  set_ = true;
  changed_.notify_all();
}

bool SteadyFlag::WaitFor(std::chrono::nanoseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  absl::MutexLock lock(&mu_);
  Lockable lockable{&mu_};
  while (!set_) {
    if (changed_.wait_until(lockable, deadline) == std::cv_status::timeout) {
      break;
    }
  }
  return set_;
}

}  // namespace graphdbg
