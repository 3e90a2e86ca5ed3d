#include "server/jobs/watchpoint_actions.h"

namespace graphdbg::jobs {

bool WatchpointActions::Begins(const model::Hit& hit) {
  const auto [last, is_first] = last_.emplace(hit.watchpoint, hit.step);
  const uint64_t before = last->second;
  last->second = hit.step;
  // Ranks differ by a few steps. A process that has replaced another one begins
  // anew.
  return is_first || hit.step > before + kCoolDown ||
         hit.step + kCoolDown < before;
}

}  // namespace graphdbg::jobs
