#include "server/jobs/rank_sync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphdbg::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = SyncOrder::Kind;

RankPosition Stopped(uint32_t rank, uint64_t steps_ended) {
  RankPosition at;
  at.rank = rank;
  at.stopped = true;
  at.steps_ended = steps_ended;
  return at;
}

RankPosition Inside(uint32_t rank, uint64_t steps_ended) {
  RankPosition at = Stopped(rank, steps_ended);
  at.inside = true;
  return at;
}

RankPosition AtStart(uint32_t rank) {
  RankPosition at = Stopped(rank, 0);
  at.at_start = true;
  return at;
}

RankPosition Running(uint32_t rank, std::optional<uint64_t> stops_after = {}) {
  RankPosition at;
  at.rank = rank;
  at.stops_after = stops_after;
  return at;
}

RankPosition Asked(uint32_t rank, std::optional<uint64_t> stops_after = {}) {
  RankPosition at = Running(rank, stops_after);
  at.asked_to_stop = true;
  return at;
}

TEST(KeepTogetherTest, LeavesRanksAloneThatAllRunOrHaveStoppedTogether) {
  EXPECT_THAT(KeepTogether({}, true), IsEmpty());
  EXPECT_THAT(KeepTogether({Running(0), Running(1)}, true), IsEmpty());
  EXPECT_THAT(KeepTogether({Stopped(0, 3), Stopped(1, 3)}, false), IsEmpty());
}

TEST(KeepTogetherTest, StopsAllRanksWhenOneStops) {
  EXPECT_THAT(
      KeepTogether({Running(0), Stopped(1, 3), Running(2)}, true),
      ElementsAre(SyncOrder{0, Kind::kStop, 0}, SyncOrder{2, Kind::kStop, 0}));
}

TEST(KeepTogetherTest, WaitsUntilAllRanksHaveReportedWhereTheyStop) {
  EXPECT_THAT(KeepTogether({Asked(0), Stopped(1, 3), Asked(2, 4)}, false),
              IsEmpty());
}

TEST(KeepTogetherTest, MovesRanksThatStoppedEarlyToTheCommonStep) {
  // Rank 0 waits in step 4 for rank 1.
  EXPECT_THAT(KeepTogether({Asked(0, 4), Stopped(1, 3)}, false),
              ElementsAre(SyncOrder{1, Kind::kStep, 1}));
  EXPECT_THAT(KeepTogether({Stopped(0, 5), Stopped(1, 3)}, false),
              ElementsAre(SyncOrder{1, Kind::kStep, 2}));
}

TEST(KeepTogetherTest, CompletesAStepThatOneRankHasBegun) {
  // Rank 1 has a hit in step 4, which rank 0 has not begun.
  EXPECT_THAT(KeepTogether({Asked(0, 3), Inside(1, 3)}, false), IsEmpty());
  EXPECT_THAT(
      KeepTogether({Stopped(0, 3), Inside(1, 3)}, false),
      ElementsAre(SyncOrder{0, Kind::kStep, 1}, SyncOrder{1, Kind::kStep, 1}));
  EXPECT_THAT(KeepTogether({Stopped(0, 4), Inside(1, 3)}, false),
              ElementsAre(SyncOrder{1, Kind::kStep, 1}));
}

TEST(KeepTogetherTest, KeepsRanksAtTheirNodesOfTheSameStep) {
  EXPECT_THAT(KeepTogether({Inside(0, 3), Inside(1, 3)}, false), IsEmpty());
}

TEST(KeepTogetherTest, DoesNotStopARankThatWillStopThereAnyway) {
  EXPECT_THAT(KeepTogether({Running(0, 3), Stopped(1, 3)}, false), IsEmpty());
}

TEST(KeepTogetherTest, StopsARankThatWouldRunFurther) {
  // Ten steps were requested; rank 1 has a hit in the third.
  EXPECT_THAT(KeepTogether({Running(0, 10), Stopped(1, 3)}, false),
              ElementsAre(SyncOrder{0, Kind::kStop, 0}));
}

TEST(KeepTogetherTest, ARankThatFailedStaysWhereItIs) {
  RankPosition failed = Stopped(1, 2);
  failed.failed = true;
  EXPECT_THAT(KeepTogether({Running(0), failed}, false),
              ElementsAre(SyncOrder{0, Kind::kStop, 0}));
  EXPECT_THAT(KeepTogether({Asked(0, 3), failed}, false), IsEmpty());
  EXPECT_THAT(KeepTogether({Stopped(0, 3), failed}, false), IsEmpty());
}

TEST(KeepTogetherTest, LateRanksFollowRunningRanks) {
  EXPECT_THAT(KeepTogether({Running(0), AtStart(1)}, true),
              ElementsAre(SyncOrder{1, Kind::kFollow, 0}));
}

TEST(KeepTogetherTest, LateRanksStepWithSteppingRanks) {
  EXPECT_THAT(KeepTogether({Running(0, 2), AtStart(1)}, false),
              ElementsAre(SyncOrder{1, Kind::kStep, 2}));
  EXPECT_THAT(KeepTogether({Asked(0, 1), AtStart(1)}, false),
              ElementsAre(SyncOrder{1, Kind::kStep, 1}));
}

TEST(KeepTogetherTest, RanksWaitBeforeTheFirstStepForTheUser) {
  EXPECT_THAT(KeepTogether({AtStart(0), AtStart(1)}, false), IsEmpty());
}

}  // namespace
}  // namespace graphdbg::jobs
