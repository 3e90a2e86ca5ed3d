#include "server/runs/history_buckets.h"

#include <limits>

namespace graphdbg::recorded {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

model::HistoryBucket BucketOf(const model::StatisticsPoint* first,
                              const model::StatisticsPoint* end) {
  model::HistoryBucket bucket;
  bucket.first = *first;
  bucket.last = end[-1];
  bucket.least = *first;
  bucket.greatest = *first;
  bucket.points = static_cast<uint64_t>(end - first);
  for (const auto* at = first; at != end; ++at) {
    if (at->statistics.min.value_or(kInfinity) <
        bucket.least.statistics.min.value_or(kInfinity)) {
      bucket.least = *at;
    }
    if (at->statistics.max.value_or(-kInfinity) >
        bucket.greatest.statistics.max.value_or(-kInfinity)) {
      bucket.greatest = *at;
    }
  }
  return bucket;
}

}  // namespace

std::vector<model::HistoryBucket> MakeBuckets(
    const std::vector<model::StatisticsPoint>& points, uint32_t count) {
  std::vector<model::HistoryBucket> buckets;
  buckets.reserve(count);
  const size_t total = points.size();
  for (uint64_t i = 0; i < count; ++i) {
    const size_t first = total * i / count;
    const size_t end = total * (i + 1) / count;
    if (first < end) {
      buckets.push_back(BucketOf(points.data() + first, points.data() + end));
    }
  }
  return buckets;
}

}  // namespace graphdbg::recorded
