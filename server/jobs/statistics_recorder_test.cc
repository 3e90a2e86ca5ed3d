#include "server/jobs/statistics_recorder.h"

#include <gtest/gtest.h>

#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

using Source = KnownStatistics::Source;

class StatisticsRecorderTest : public JobFixture {
 protected:
  static constexpr RateLimit::Clock::time_point kNow{};

  StatisticsRecorder statistics_{known_, recorder_, kNow};
};

TEST_F(StatisticsRecorderTest, RecordsAnswersButNotHits) {
  statistics_.Record(0, 1, 0, 4, {}, Source::kHit);
  EXPECT_TRUE(records_.lines.empty());
  statistics_.Record(0, 1, 0, 5, {}, Source::kAnswer);
  EXPECT_TRUE(records_.Contains("statistics 0 1:0 step 5"));
  EXPECT_EQ(known_.size(), 2u);
}

TEST_F(StatisticsRecorderTest, IgnoresUnknownNodes) {
  Rank& rank = Connect(0);
  AddNodes(rank, {"forward/log"});
  StatisticsReport report;
  report.step = 3;
  report.tensors = {{1, 0, {}}, {2, 0, {}}};
  statistics_.OnReport(rank, report, kNow);
  EXPECT_EQ(known_.size(), 1u);
  EXPECT_TRUE(records_.Contains("statistics 0 0:0 step 3"));
}

TEST_F(StatisticsRecorderTest, RecordsReportsAtALimitedRate) {
  Rank& rank = Connect(0);
  AddNodes(rank, {"forward/log"});
  StatisticsReport report;
  report.step = 3;
  const uint64_t limit = StatisticsRecorder::kRecordedReportsPerSecond;
  for (uint32_t slot = 0; slot < limit + 10; ++slot) {
    report.tensors.push_back({1, slot, {}});
  }
  statistics_.OnReport(rank, report, kNow);
  EXPECT_EQ(records_.lines.size(), limit);
  EXPECT_EQ(known_.size(), limit + 10);
}

}  // namespace
}  // namespace graphdbg::jobs
