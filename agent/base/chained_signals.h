// Notices signals during a wait inside native code.
#ifndef AGENT_BASE_CHAINED_SIGNALS_H_
#define AGENT_BASE_CHAINED_SIGNALS_H_

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstring>

#include "agent/base/mutex.h"

namespace graphdbg {

// Python runs its signal handlers only between two instructions of the main
// thread, which waits for native code to return. While somebody waits, the
// signals that terminate programs therefore go through a handler that counts
// them and then calls the handler before it. Signals without a handler are not
// affected. Thread-safe; one per shared object.
class ChainedSignals {
 public:
  static ChainedSignals& Get() {
    static auto* const signals = new ChainedSignals;
    return *signals;
  }

  // Waits may overlap: the handlers are put back when the last one ends.
  void BeginWait() {
    MutexLock lock(&mu_);
    if (waits_++ > 0) return;
    for (size_t i = 0; i < kSignals.size(); ++i) {
      chained_[i] = false;
      struct sigaction action;
      if (sigaction(kSignals[i], nullptr, &action) != 0) continue;
      if (!HasHandler(action)) continue;
      Publish(i, action);
      action.sa_sigaction = OnSignal;
      action.sa_flags |= SA_SIGINFO;
      chained_[i] = sigaction(kSignals[i], &action, nullptr) == 0;
    }
  }

  void EndWait() {
    MutexLock lock(&mu_);
    if (--waits_ > 0) return;
    for (size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction now;
      if (!chained_[i] || sigaction(kSignals[i], nullptr, &now) != 0) continue;
      // The handler may have been replaced in the meantime.
      if (now.sa_sigaction == OnSignal) {
        sigaction(kSignals[i], earlier_[i].load(), nullptr);
      }
    }
  }

  bool AnyWait() {
    MutexLock lock(&mu_);
    return waits_ > 0;
  }

  // Number of signals received during waits.
  int seen() const { return seen_; }

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

  ChainedSignals() = default;

  static void OnSignal(int number, siginfo_t* info, void* context) {
    ChainedSignals& self = Get();
    self.seen_.fetch_add(1);
    for (size_t i = 0; i < kSignals.size(); ++i) {
      if (kSignals[i] != number) continue;
      const struct sigaction* const action = self.earlier_[i].load();
      if ((action->sa_flags & SA_SIGINFO) != 0) {
        action->sa_sigaction(number, info, context);
      } else {
        action->sa_handler(number);
      }
    }
  }

  static bool HasHandler(const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) != 0 ||
           (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
  }

  static bool HaveSameEffect(const struct sigaction& a,
                             const struct sigaction& b) {
    return a.sa_flags == b.sa_flags && a.sa_sigaction == b.sa_sigaction &&
           std::memcmp(&a.sa_mask, &b.sa_mask, sizeof(a.sa_mask)) == 0;
  }

  void Publish(size_t i, const struct sigaction& action) {
    const struct sigaction* const before = earlier_[i].load();
    if (before != nullptr && HaveSameEffect(*before, action)) return;
    earlier_[i] = new struct sigaction(action);
  }

  // Lock-free for use in handlers.
  std::atomic<int> seen_{0};
  Mutex mu_;
  int waits_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  std::array<bool, kSignals.size()> chained_ GRAPHDBG_GUARDED_BY(mu_) = {};
  // The actions that OnSignal() calls on. OnSignal() may still run on another
  // thread long after it was uninstalled, so an action never changes once it is
  // published here, and is never freed. Programs rarely change their actions,
  // and an action that is the same as before is used again.
  std::array<std::atomic<const struct sigaction*>, kSignals.size()> earlier_{};
};

}  // namespace graphdbg

#endif  // AGENT_BASE_CHAINED_SIGNALS_H_
