#include "server/jobs/hit_recorder.h"

#include <gtest/gtest.h>

#include "server/base/error.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

class HitRecorderTest : public JobFixture {
 protected:
  HitRecorderTest() {
    AddNodes(Connect(0), {"forward/log"});
    model::WatchpointSpec spec;
    spec.condition.id = "nan";
    watchpoint_ = *watch_table_.Add(spec);
  }

  HitReport Report(uint64_t number) const {
    HitReport report;
    report.number = number;
    report.node_id = 1;
    report.hit.watchpoint = watchpoint_;
    report.hit.revision = 1;
    report.hit.step = 2;
    report.hit.statistics.count = 10;
    return report;
  }

  // Returns once the report is durable; false if its status was not OK.
  bool Deliver(HitReport report) {
    bool ok = false;
    recorder_under_test_.OnReport(
        *machine_.Find(0), std::move(report),
        [&ok](const absl::Status& status) { ok = status.ok(); });
    Settle();
    return ok;
  }

  uint32_t watchpoint_ = 0;
  // The hits that were reported as visible.
  std::vector<uint64_t> seen_;
  StatisticsRecorder statistics_{known_, recorder_, {}};
  HitRecorder recorder_under_test_{
      watch_table_, hits_,
      statistics_,  recorder_,
      events_,      [this](const model::Hit& hit) {
                                     seen_.push_back(hit.id); }};
};

TEST_F(HitRecorderTest, PublishesAHitOnceItIsDurable) {
  bool done = false;
  recorder_under_test_.OnReport(*machine_.Find(0), Report(1),
                                [&](const absl::Status&) { done = true; });
  EXPECT_TRUE(records_.Contains("hit 1 number 1 stored"));
  EXPECT_TRUE(EventsOf(model::Event::Type::kHit).empty());
  EXPECT_FALSE(done);
  Settle();
  const auto events = EventsOf(model::Event::Type::kHit);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].hit->node, "forward/log");
  EXPECT_EQ(events[0].hit->id, 1u);
  EXPECT_EQ(seen_, std::vector<uint64_t>{1});
  EXPECT_TRUE(done);
  EXPECT_EQ(known_.Find(0, 0, 0)->step, 2u);
}

TEST_F(HitRecorderTest, ConfirmsOnlyWhatIsDurable) {
  std::string reason;
  recorder_under_test_.OnReport(
      *machine_.Find(0), Report(1),
      [&](const absl::Status& kept) { reason = ReasonOf(kept); });
  Settle(absl::ResourceExhaustedError("disk full"));
  // The next report is welcome, but the hit stays with the agent.
  EXPECT_EQ(reason, "not_kept");
  EXPECT_TRUE(LinkOf(0)->OrdersOf<HitsRecordedOrder>().empty());
  EXPECT_EQ(hits_.total(), 0u);
  Settle();
  EXPECT_EQ(hits_.total(), 1u);
  ASSERT_EQ(LinkOf(0)->OrdersOf<HitsRecordedOrder>().size(), 1u);
  EXPECT_EQ(LinkOf(0)->OrdersOf<HitsRecordedOrder>()[0].through, 1u);
}

TEST_F(HitRecorderTest, AConfirmationGoesToTheProcessThatReported) {
  recorder_under_test_.OnReport(*machine_.Find(0), Report(9),
                                [](const absl::Status&) {});
  const auto first = LinkOf(0);
  machine_.OnDisconnected(*machine_.Find(0));
  Connect(0);
  ASSERT_NE(LinkOf(0), first);
  Settle();
  EXPECT_TRUE(LinkOf(0)->OrdersOf<HitsRecordedOrder>().empty());
  EXPECT_EQ(first->OrdersOf<HitsRecordedOrder>().size(), 1u);
}

TEST_F(HitRecorderTest, IgnoresHitsThatAreSentAgain) {
  EXPECT_TRUE(Deliver(Report(5)));
  EXPECT_TRUE(Deliver(Report(5)));
  EXPECT_TRUE(Deliver(Report(4)));
  EXPECT_EQ(hits_.total(), 1u);
  // Not all protocols number their hits.
  EXPECT_TRUE(Deliver(Report(0)));
  EXPECT_TRUE(Deliver(Report(0)));
  EXPECT_EQ(hits_.total(), 3u);
}

TEST_F(HitRecorderTest, DropsHitsOfUnknownNodesAndWatchpoints) {
  HitReport unknown_node = Report(1);
  unknown_node.node_id = 9;
  EXPECT_TRUE(Deliver(unknown_node));
  HitReport unknown_revision = Report(2);
  unknown_revision.hit.revision = 7;
  EXPECT_TRUE(Deliver(unknown_revision));
  EXPECT_EQ(hits_.total(), 0u);
  const auto logs = EventsOf(model::Event::Type::kLog);
  ASSERT_EQ(logs.size(), 2u);
  EXPECT_EQ(logs[0].level, "warning");
}

TEST_F(HitRecorderTest, KeepsNoStatisticsOfAHitThatCouldNotBeEvaluated) {
  HitReport report = Report(1);
  report.hit.error = "no previous value";
  EXPECT_TRUE(Deliver(report));
  EXPECT_EQ(hits_.total(), 1u);
  EXPECT_EQ(known_.size(), 0u);
}

}  // namespace
}  // namespace graphdbg::jobs
