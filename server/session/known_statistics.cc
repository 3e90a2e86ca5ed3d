#include "server/session/known_statistics.h"

#include <algorithm>

namespace graphdbg::session {

KnownStatistics::Noted KnownStatistics::Note(uint32_t rank,
                                             graph::NodeIndex node,
                                             uint32_t slot, uint64_t step,
                                             const StatisticsInfo& statistics) {
  const Key key{rank, node, slot};
  auto it = known_.find(key);
  if (it == known_.end()) {
    if (size_ >= limits_.all_steps) return {};
    it = known_.try_emplace(key).first;
  }
  std::vector<StatisticsPoint>& points = it->second;
  auto at = std::lower_bound(points.begin(), points.end(), step,
                             [](const StatisticsPoint& point, uint64_t wanted) {
                               return point.step < wanted;
                             });
  if (at != points.end() && at->step == step) {
    at->statistics = statistics;
    return {true, std::nullopt};
  }
  const bool full =
      points.size() >= limits_.steps_of_a_tensor || size_ >= limits_.all_steps;
  if (!full) {
    points.insert(at, {step, statistics});
    ++size_;
    return {true, std::nullopt};
  }
  // Older than all that is known.
  if (at == points.begin()) return {};
  const uint64_t dropped = points.front().step;
  std::move(points.begin() + 1, at, points.begin());
  *(at - 1) = {step, statistics};
  return {true, dropped};
}

const StatisticsPoint* KnownStatistics::Find(uint32_t rank,
                                             graph::NodeIndex node,
                                             uint32_t slot) const {
  const auto it = known_.find(Key{rank, node, slot});
  return it == known_.end() ? nullptr : &it->second.back();
}

std::vector<StatisticsPoint> KnownStatistics::History(uint32_t rank,
                                                      graph::NodeIndex node,
                                                      uint32_t slot) const {
  const auto it = known_.find(Key{rank, node, slot});
  return it == known_.end() ? std::vector<StatisticsPoint>() : it->second;
}

}  // namespace graphdbg::session
