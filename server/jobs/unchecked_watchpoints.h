// The watchpoints that a recheck of the paused job would evaluate.
#ifndef SERVER_JOBS_UNCHECKED_WATCHPOINTS_H_
#define SERVER_JOBS_UNCHECKED_WATCHPOINTS_H_

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace graphdbg::jobs {

// The ids of watchpoints that were set or changed since the job stopped. Empty
// while the job runs. Not thread safe.
class UncheckedWatchpoints {
 public:
  // A watchpoint was set or changed (`enabled`), or disabled or removed.
  // Returns whether the set has changed.
  bool OnChanged(uint32_t watchpoint, bool enabled) {
    return enabled ? ids_.insert(watchpoint).second
                   : ids_.erase(watchpoint) > 0;
  }

  // Returns the ids in ascending order and clears the set.
  std::vector<uint32_t> Take() {
    const std::set<uint32_t> taken = std::exchange(ids_, {});
    return {taken.begin(), taken.end()};
  }

  void Clear() { ids_.clear(); }

  const std::set<uint32_t>& ids() const { return ids_; }

 private:
  std::set<uint32_t> ids_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_UNCHECKED_WATCHPOINTS_H_
