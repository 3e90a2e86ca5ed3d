// The recommended watchpoints, which suit any training job.
#ifndef SERVER_WATCH_RECOMMENDED_H_
#define SERVER_WATCH_RECOMMENDED_H_

#include <vector>

#include "server/model/watch.h"
#include "server/watch/watch_table.h"

namespace graphdbg::watch {

// MindSpore's set with its thresholds, and a check for large gradients.
// Conditions that are always errors pause at the node. Conditions that only
// look suspicious pause at the end of the step. Zeros and small values are
// checked only in weights, outputs and gradients of layers; elsewhere they are
// common in healthy jobs.
struct RecommendedOptions {
  // The device's own overflow flag is checked, too.
  bool ascend = false;
  // The job tests expressions. Then weights that do not change are listed.
  bool expressions = true;
};
std::vector<model::WatchpointSpec> RecommendedSet(
    const RecommendedOptions& options);

// Whether the watchpoint is this recommended one. The user may have changed its
// parameters.
bool IsRecommended(const model::WatchpointSpec& watchpoint,
                   const model::WatchpointSpec& recommended);

// The id of the table's watchpoint that is this recommended one. 0: none.
uint32_t FindRecommended(const WatchTable& table,
                         const model::WatchpointSpec& recommended);

}  // namespace graphdbg::watch

#endif  // SERVER_WATCH_RECOMMENDED_H_
