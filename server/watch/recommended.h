// Watchpoints that need no thought: what is wrong in any training.
#ifndef SERVER_WATCH_RECOMMENDED_H_
#define SERVER_WATCH_RECOMMENDED_H_

#include <vector>

#include "server/model/watch.h"
#include "server/watch/watch_table.h"

namespace graphdbg::watch {

// MindSpore's set, with its thresholds, and gradients that are too large. What
// is wrong for certain stops at the node; what only looks wrong stops at the
// step's end, where nothing is lost by going on. Zeros and small numbers are
// looked for where layers have their weights, outputs and gradients: elsewhere
// they are where things begin, and would stop jobs in good health.
// `ascend`: with the device's own overflow flag.
std::vector<model::WatchpointSpec> RecommendedSet(bool ascend);

// Whether the watchpoint is this one of the set, whatever people made of its
// values since.
bool IsRecommended(const model::WatchpointSpec& watchpoint,
                   const model::WatchpointSpec& of_set);

// The id of a watchpoint of the table that is this one of the set; 0: none.
uint32_t FindRecommended(const WatchTable& table,
                         const model::WatchpointSpec& of_set);

}  // namespace graphdbg::watch

#endif  // SERVER_WATCH_RECOMMENDED_H_
