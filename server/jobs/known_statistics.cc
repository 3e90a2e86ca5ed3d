#include "server/jobs/known_statistics.h"

#include <algorithm>

namespace graphdbg::jobs {

KnownStatistics::Change KnownStatistics::Add(
    uint32_t rank, graph::NodeIndex node, uint32_t slot, uint64_t step,
    const model::Statistics& statistics, Source source) {
  const bool requested = source == Source::kHit || source == Source::kAnswer;
  const bool recorded = source == Source::kAnswer || source == Source::kReport;
  const bool all_full =
      size_ >= (requested ? limits_.all_steps : limits_.all_reported_steps);
  const Key key{rank, node, slot};
  auto it = known_.find(key);
  if (it == known_.end()) {
    if (all_full) return {};
    it = known_.try_emplace(key).first;
  }
  Series& points = it->second;
  auto at = std::lower_bound(
      points.begin(), points.end(), step,
      [](const Point& point, uint64_t wanted) { return point.step < wanted; });
  if (at != points.end() && at->step == step) {
    at->statistics = statistics;
    at->recorded |= recorded;
    return {true, at->recorded, std::nullopt};
  }
  Change change{true, recorded, std::nullopt};
  const auto place = at - points.begin();
  if (all_full || points.size() >= limits_.steps_of_a_tensor) {
    // Older than every known step.
    if (place == 0) return {};
    if (points.front().recorded) change.erase_step = points.front().step;
    points.pop_front();
    points.insert(points.begin() + (place - 1),
                  Point{{step, statistics}, recorded});
    return change;
  }
  if (points.full()) {
    points.set_capacity(
        std::clamp<size_t>(2 * points.size(), 1, limits_.steps_of_a_tensor));
  }
  points.insert(points.begin() + place, Point{{step, statistics}, recorded});
  ++size_;
  return change;
}

const model::StatisticsPoint* KnownStatistics::Find(uint32_t rank,
                                                    graph::NodeIndex node,
                                                    uint32_t slot) const {
  const auto it = known_.find(Key{rank, node, slot});
  return it == known_.end() ? nullptr : &it->second.back();
}

std::vector<model::StatisticsPoint> KnownStatistics::History(
    uint32_t rank, graph::NodeIndex node, uint32_t slot) const {
  const auto it = known_.find(Key{rank, node, slot});
  if (it == known_.end()) return {};
  return std::vector<model::StatisticsPoint>(it->second.begin(),
                                             it->second.end());
}

}  // namespace graphdbg::jobs
