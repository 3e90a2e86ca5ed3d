// When the actions of watchpoints are due.
#ifndef SERVER_JOBS_WATCHPOINT_ACTIONS_H_
#define SERVER_JOBS_WATCHPOINT_ACTIONS_H_

#include <cstdint>
#include <map>

#include "server/model/watch.h"

namespace graphdbg::jobs {

// Hits of a watchpoint in steps that follow closely are one episode, for which
// its actions are carried out once. On the job's strand only.
class WatchpointActions {
 public:
  // The steps without a hit after which a hit begins another episode.
  static constexpr uint64_t kCoolDown = 10;

  // Whether the hit begins an episode of its watchpoint.
  bool Begins(const model::Hit& hit);

 private:
  // The step of the last hit, by watchpoint.
  std::map<uint32_t, uint64_t> last_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_WATCHPOINT_ACTIONS_H_
