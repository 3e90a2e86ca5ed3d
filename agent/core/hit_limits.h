// Limits of watchpoints that ignore their first hits, or count only one.
#ifndef AGENT_CORE_HIT_LIMITS_H_
#define AGENT_CORE_HIT_LIMITS_H_

#include <atomic>
#include <cstdint>
#include <map>

#include "agent/base/mutex.h"
#include "proto/graphdbg/v1/watch.pb.h"

namespace graphdbg::agent {

struct Findings;

// Any thread. Takes no lock unless some watchpoint has such a limit.
class HitLimits {
 public:
  // A watchpoint was set. Counting restarts if its revision has changed.
  void Set(const v1::SetWatchpoint& watchpoint) GRAPHDBG_EXCLUDES(mu_);
  void Remove(uint32_t id) GRAPHDBG_EXCLUDES(mu_);

  // Removes the hits that do not count, and the stops that nothing else causes.
  void Apply(Findings* findings) GRAPHDBG_EXCLUDES(mu_);

 private:
  struct Limit {
    uint32_t revision = 0;
    uint32_t ignored_left = 0;
    bool once = false;
    bool has_hit = false;
  };

  // Updates the limit of a hit. Returns whether the hit counts.
  bool Counts(const v1::Hit& hit) GRAPHDBG_REQUIRES(mu_);

  std::atomic<bool> any_{false};
  Mutex mu_;
  // By watchpoint.
  std::map<uint32_t, Limit> limits_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_HIT_LIMITS_H_
