#include "agent/core/findings_reporter.h"

#include <gtest/gtest.h>

namespace graphdbg::agent {
namespace {

class FindingsReporterTest : public testing::Test {
 protected:
  FindingsReporterTest() {
    outbox_.OpenStream();
    outbox_.BeginStream({});
  }

  v1::AgentMessage Sent() {
    v1::AgentMessage message;
    outbox_.PutLog(v1::Log::LEVEL_INFO, "end");
    outbox_.Take(&message);
    return message;
  }

  Outbox outbox_;
  StatisticsRecorder recorder_;
  FindingsReporter reporter_{&outbox_, &recorder_};
};

TEST_F(FindingsReporterTest, SendsHitsAndReturnsImmediateStops) {
  Findings findings = reporter_.NewFindings();
  findings.hits.emplace_back().set_watchpoint(7);
  findings.stop_here = {7};
  EXPECT_EQ(reporter_.Report(std::move(findings)), std::vector<uint32_t>({7}));
  EXPECT_EQ(Sent().hit().watchpoint(), 7u);
  EXPECT_TRUE(reporter_.TakeStepEndStops().empty());
}

TEST_F(FindingsReporterTest, CollectsStopsAtTheEndOfAStepOnceEach) {
  for (uint32_t id : {3, 5, 3}) {
    Findings findings = reporter_.NewFindings();
    findings.stop_at_step_end = {id};
    EXPECT_TRUE(reporter_.Report(std::move(findings)).empty());
  }
  EXPECT_EQ(reporter_.TakeStepEndStops(), std::vector<uint32_t>({3, 5}));
  EXPECT_TRUE(reporter_.TakeStepEndStops().empty());
}

TEST_F(FindingsReporterTest, SendsNoticesAsLogs) {
  Findings findings = reporter_.NewFindings();
  findings.notice = "a line";
  reporter_.Report(std::move(findings));
  EXPECT_EQ(Sent().log().message(), "a line");
}

TEST_F(FindingsReporterTest, SendsNoReportOfAStepWithoutStatistics) {
  reporter_.ReportStatistics(1);
  EXPECT_EQ(Sent().log().message(), "end");
}

}  // namespace
}  // namespace graphdbg::agent
