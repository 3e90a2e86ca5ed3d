#include "server/jobs/known_statistics.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace graphdbg::jobs {
namespace {

using Source = KnownStatistics::Source;

model::Statistics Count(uint64_t count) {
  model::Statistics statistics;
  statistics.count = count;
  return statistics;
}

// Steps with their counts.
using Points = std::vector<std::pair<uint64_t, uint64_t>>;

Points Of(const KnownStatistics& known, uint32_t rank = 0,
          graph::NodeIndex node = 1, uint32_t slot = 0) {
  Points points;
  for (const model::StatisticsPoint& point : known.History(rank, node, slot)) {
    points.emplace_back(point.step, point.statistics.count);
  }
  return points;
}

TEST(KnownStatisticsTest, SortsSteps) {
  KnownStatistics known;
  for (uint64_t step : {5, 2, 9, 7})
    known.Add(0, 1, 0, step, Count(step), Source::kAnswer);
  EXPECT_EQ(Of(known), (Points{{2, 2}, {5, 5}, {7, 7}, {9, 9}}));
  EXPECT_EQ(known.Find(0, 1, 0)->step, 9u);
  // A newer answer replaces the first one.
  EXPECT_TRUE(known.Add(0, 1, 0, 5, Count(50), Source::kAnswer).kept);
  EXPECT_EQ(Of(known)[1].second, 50u);
  EXPECT_EQ(known.size(), 4u);
}

TEST(KnownStatisticsTest, DistinguishesTensorsAndRanks) {
  KnownStatistics known;
  known.Add(0, 1, 0, 1, Count(1), Source::kAnswer);
  EXPECT_EQ(known.Find(1, 1, 0), nullptr);
  EXPECT_EQ(known.Find(0, 2, 0), nullptr);
  EXPECT_EQ(known.Find(0, 1, 1), nullptr);
  EXPECT_TRUE(Of(known, 0, 1, 1).empty());
}

TEST(KnownStatisticsTest, DropsTheOldestStepOfATensorFirst) {
  KnownStatistics known({.steps_of_a_tensor = 3, .all_steps = 100});
  for (uint64_t step : {1, 2, 4})
    known.Add(0, 1, 0, step, Count(step), Source::kAnswer);
  const auto change = known.Add(0, 1, 0, 3, Count(3), Source::kAnswer);
  EXPECT_TRUE(change.kept);
  EXPECT_EQ(change.erase_step, 1u);
  EXPECT_EQ(Of(known), (Points{{2, 2}, {3, 3}, {4, 4}}));
  EXPECT_EQ(known.Add(0, 1, 0, 8, Count(8), Source::kAnswer).erase_step, 2u);
  EXPECT_EQ(Of(known), (Points{{3, 3}, {4, 4}, {8, 8}}));
  // An older step does not displace a newer one.
  EXPECT_FALSE(known.Add(0, 1, 0, 2, Count(2), Source::kAnswer).kept);
  EXPECT_EQ(known.size(), 3u);
}

TEST(KnownStatisticsTest, LimitsTheStepsOfAllTensors) {
  KnownStatistics known({.steps_of_a_tensor = 10, .all_steps = 2});
  known.Add(0, 1, 0, 1, Count(1), Source::kAnswer);
  known.Add(0, 2, 0, 1, Count(1), Source::kAnswer);
  EXPECT_FALSE(known.Add(0, 3, 0, 1, Count(1), Source::kAnswer).kept);
  EXPECT_EQ(known.Find(0, 3, 0), nullptr);
  EXPECT_EQ(known.Add(0, 1, 0, 2, Count(2), Source::kAnswer).erase_step, 1u);
  EXPECT_EQ(Of(known), (Points{{2, 2}}));
}

TEST(KnownStatisticsTest, UnrequestedStatisticsLeaveRoomForRequestedOnes) {
  KnownStatistics known(
      {.steps_of_a_tensor = 10, .all_steps = 4, .all_reported_steps = 2});
  known.Add(0, 1, 0, 1, Count(1), Source::kReport);
  known.Add(0, 1, 0, 2, Count(2), Source::kReport);
  EXPECT_FALSE(known.Add(0, 2, 0, 2, Count(2), Source::kReport).kept);
  EXPECT_TRUE(known.Add(0, 2, 0, 2, Count(2), Source::kAnswer).kept);
  known.Add(0, 1, 0, 3, Count(3), Source::kReport);
  EXPECT_EQ(Of(known), (Points{{2, 2}, {3, 3}}));
}

TEST(KnownStatisticsTest, ErasesOnlyRecordedSteps) {
  KnownStatistics known({.steps_of_a_tensor = 2});
  EXPECT_FALSE(known.Add(0, 1, 0, 1, Count(1), Source::kHit).record);
  EXPECT_FALSE(
      known.Add(0, 1, 0, 2, Count(2), Source::kUnrecordedReport).record);
  EXPECT_TRUE(known.Add(0, 1, 0, 2, Count(2), Source::kAnswer).record);
  // Otherwise a restart would restore the older statistics.
  EXPECT_TRUE(
      known.Add(0, 1, 0, 2, Count(3), Source::kUnrecordedReport).record);
  EXPECT_EQ(known.Add(0, 1, 0, 3, Count(3), Source::kReport).erase_step,
            std::nullopt);
  EXPECT_EQ(known.Add(0, 1, 0, 4, Count(4), Source::kReport).erase_step, 2u);
}

}  // namespace
}  // namespace graphdbg::jobs
