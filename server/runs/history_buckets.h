// Shortens long histories for plots.
#ifndef SERVER_RUNS_HISTORY_BUCKETS_H_
#define SERVER_RUNS_HISTORY_BUCKETS_H_

#include <cstdint>
#include <vector>

#include "server/model/run.h"

namespace graphdbg::recorded {

// Divides the points, of which there are more than `count`, into `count` (at
// least 1) buckets of about the same number of consecutive points.
std::vector<model::HistoryBucket> MakeBuckets(
    const std::vector<model::StatisticsPoint>& points, uint32_t count);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_HISTORY_BUCKETS_H_
