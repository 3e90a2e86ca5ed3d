#include "server/jobs/rank_sync.h"

#include <algorithm>

namespace graphdbg::jobs {
namespace {

using Kind = SyncOrder::Kind;

// The furthest rank that has run and stopped. Absent if none has.
std::optional<uint64_t> FurthestStop(const std::vector<RankPosition>& ranks) {
  std::optional<uint64_t> furthest;
  for (const RankPosition& rank : ranks) {
    if (!rank.stopped || rank.at_start) continue;
    furthest = std::max(furthest.value_or(0), rank.steps_ended);
  }
  return furthest;
}

// Stops the ranks that will, or might, run past `step`. If `step` is absent,
// ranks that are known to stop are left alone.
std::vector<SyncOrder> StopOthers(const std::vector<RankPosition>& ranks,
                                  std::optional<uint64_t> step) {
  std::vector<SyncOrder> orders;
  for (const RankPosition& rank : ranks) {
    if (rank.stopped || rank.asked_to_stop) continue;
    if (rank.stops_after && *rank.stops_after <= step.value_or(UINT64_MAX)) {
      continue;
    }
    orders.push_back({rank.rank, Kind::kStop, 0});
  }
  return orders;
}

// The end of the step in which one rank has stopped and which another rank has
// not begun. 0 if no rank has.
uint64_t StepBegunBySome(const std::vector<RankPosition>& ranks) {
  uint64_t begun = 0;
  bool all_inside = true;
  for (const RankPosition& rank : ranks) {
    if (!rank.stopped) continue;
    all_inside = all_inside && rank.inside;
    if (rank.inside) begun = std::max(begun, rank.steps_ended + 1);
  }
  return all_inside ? 0 : begun;
}

// The first step at which all ranks can stop. Absent while a rank has not
// reported where it will stop.
std::optional<uint64_t> CommonStep(const std::vector<RankPosition>& ranks,
                                   uint64_t furthest_stop) {
  uint64_t step = std::max(furthest_stop, StepBegunBySome(ranks));
  for (const RankPosition& rank : ranks) {
    if (rank.stopped) continue;
    if (!rank.stops_after) return std::nullopt;
    step = std::max(step, *rank.stops_after);
  }
  return step;
}

std::vector<SyncOrder> LetFollow(const std::vector<RankPosition>& ranks) {
  std::vector<SyncOrder> orders;
  for (const RankPosition& rank : ranks) {
    if (rank.at_start) orders.push_back({rank.rank, Kind::kFollow, 0});
  }
  return orders;
}

}  // namespace

std::vector<SyncOrder> KeepTogether(const std::vector<RankPosition>& ranks,
                                    bool runs_freely) {
  const auto any = [&ranks](bool RankPosition::*is) {
    return std::any_of(ranks.begin(), ranks.end(),
                       [is](const RankPosition& rank) { return rank.*is; });
  };
  if (!any(&RankPosition::stopped)) return {};
  if (runs_freely && any(&RankPosition::at_start)) return LetFollow(ranks);
  const std::optional<uint64_t> furthest = FurthestStop(ranks);
  std::vector<SyncOrder> orders = StopOthers(ranks, furthest);
  if (!orders.empty()) return orders;
  const std::optional<uint64_t> common =
      CommonStep(ranks, furthest.value_or(0));
  if (!common) return {};
  for (const RankPosition& rank : ranks) {
    if (!rank.stopped || rank.failed || rank.steps_ended >= *common) continue;
    orders.push_back({rank.rank, Kind::kStep, *common - rank.steps_ended});
  }
  return orders;
}

}  // namespace graphdbg::jobs
