// A flag that threads wait for by the steady clock.
#ifndef SERVER_BASE_STEADY_FLAG_H_
#define SERVER_BASE_STEADY_FLAG_H_

#include <chrono>
#include <condition_variable>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace graphdbg {

// absl::Notification, too, can be awaited for a limited time, but Abseil waits
// for a moment of the wall clock, and an hour too long if that is set back by
// an hour.
class SteadyFlag {
 public:
  // Wakes all that wait. Any thread.
  void Set() ABSL_LOCKS_EXCLUDED(mu_);
  // Returns whether the flag was set within this time. Any thread.
  bool WaitFor(std::chrono::nanoseconds limit) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::Mutex mu_;
  bool set_ ABSL_GUARDED_BY(mu_) = false;
  std::condition_variable_any changed_;
};

}  // namespace graphdbg

#endif  // SERVER_BASE_STEADY_FLAG_H_
