// The level at which the host reports what it executes.
#ifndef AGENT_CORE_HOST_LEVEL_H_
#define AGENT_CORE_HOST_LEVEL_H_

#include <atomic>
#include <chrono>

#include "agent/base/mutex.h"
#include "agent/core/host.h"
#include "agent/include/graphdbg/agent.h"

namespace graphdbg::agent {

// Passes a GRAPHDBG_LEVEL_... to the host's set_level callback whenever it
// changes, in order and never twice. Any thread.
class HostLevel {
 public:
  // `host` must outlive this.
  explicit HostLevel(const Host* host) : host_(host) {}

  // Sets the level that the agent needs, and delivers it.
  void Set(int level) GRAPHDBG_EXCLUDES(delivery_mu_);
  // The level is GRAPHDBG_LEVEL_OFF from the next delivery on, whatever is set
  // later. Takes no lock, so a forked child may call it.
  void TurnOff() { off_ = true; }

  // Calls the host if its level is out of date. If another thread is doing so
  // for longer than a moment, leaves it to that thread, which checks again
  // before it returns: the host's callback may wait for a lock that the caller
  // holds.
  void Deliver() GRAPHDBG_EXCLUDES(delivery_mu_);

 private:
  int wanted() const { return off_ ? int{GRAPHDBG_LEVEL_OFF} : level_.load(); }
  bool TryLockUntil(std::chrono::steady_clock::time_point deadline)
      GRAPHDBG_TRY_ACQUIRE(true, delivery_mu_);

  const Host* const host_;
  std::atomic<bool> off_{false};
  // -1 until the first one is set.
  std::atomic<int> level_{-1};

  // Held while the host is called.
  Mutex delivery_mu_;
  int delivered_ GRAPHDBG_GUARDED_BY(delivery_mu_) = -1;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_HOST_LEVEL_H_
