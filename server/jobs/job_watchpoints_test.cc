#include "server/jobs/job_watchpoints.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <type_traits>

#include "server/base/error.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

class JobWatchpointsTest : public JobFixture {
 protected:
  static model::WatchpointSpec Nan() {
    model::WatchpointSpec spec;
    spec.condition.id = "nan";
    return spec;
  }

  uint32_t Add(const model::WatchpointSpec& spec) {
    uint32_t id = 0;
    watchpoints_.Add(spec, [&id](absl::StatusOr<model::Watchpoint> added) {
      ASSERT_TRUE(added.ok()) << added.status();
      id = added->id;
    });
    Settle();
    return id;
  }

  std::vector<SetWatchpointOrder> SetOrdersOf(uint32_t rank) const {
    return LinkOf(rank)->OrdersOf<SetWatchpointOrder>();
  }

  JobWatchpoints watchpoints_{watch_table_, hits_,      machine_,
                              recorder_,    unchecked_, events_};
};

TEST_F(JobWatchpointsTest, SendsAWatchpointOnceItIsDurable) {
  Connect(0);
  bool added = false;
  watchpoints_.Add(Nan(), [&](const auto&) { added = true; });
  EXPECT_TRUE(records_.Contains("watchpoint 1 revision 1"));
  EXPECT_TRUE(SetOrdersOf(0).empty());
  EXPECT_FALSE(added);
  Settle();
  ASSERT_EQ(SetOrdersOf(0).size(), 1u);
  EXPECT_EQ(SetOrdersOf(0)[0].revision, 1u);
  EXPECT_TRUE(added);
  EXPECT_EQ(EventsOf(model::Event::Type::kWatchpoint).size(), 1u);
}

TEST_F(JobWatchpointsTest, OneThatIsMetOnceIsDisabledByItsHit) {
  Connect(0).hello.counts_hits = true;
  model::WatchpointSpec spec = Nan();
  spec.once = true;
  spec.actions = {model::LogAction()};
  const uint32_t id = Add(spec);
  model::Hit hit;
  hit.watchpoint = id;
  // A hit of an earlier revision.
  watchpoints_.OnHit(hit);
  EXPECT_EQ(SetOrdersOf(0).size(), 1u);
  hit.revision = 1;
  watchpoints_.OnHit(hit);
  Settle();
  ASSERT_EQ(SetOrdersOf(0).size(), 2u);
  EXPECT_FALSE(SetOrdersOf(0)[1].spec.enabled);
  EXPECT_FALSE(watchpoints_.Get(id)->spec.enabled);
  EXPECT_EQ(watchpoints_.Get(id)->spec.actions, spec.actions);
}

TEST_F(JobWatchpointsTest, AMutedOnePausesFromItsStepOn) {
  Rank& rank = Connect(0);
  Run(rank, 3);
  model::WatchpointSpec spec = Nan();
  spec.muted_until_step = 5;
  const uint32_t id = Add(spec);
  EXPECT_EQ(SetOrdersOf(0)[0].spec.pause, model::PauseMode::kNone);
  EXPECT_EQ(watchpoints_.Get(id)->spec.pause, model::PauseMode::kNode);

  model::Hit hit;
  hit.watchpoint = id;
  hit.step = 4;
  EXPECT_FALSE(watchpoints_.PausesLate(rank, hit));
  // The rank is further than it has reported.
  hit.step = 5;
  EXPECT_TRUE(watchpoints_.PausesLate(rank, hit));

  const auto move = [&](const auto& report) {
    const uint64_t from = JobWatchpoints::StepOf(rank);
    report();
    watchpoints_.OnMoved(rank, from);
  };
  move([&] { PauseAt(rank, 4, model::PauseReason::kStep, /*node_id=*/1); });
  EXPECT_EQ(SetOrdersOf(0).size(), 1u);
  // The next step begins when it resumes.
  move([&] { PauseAt(rank, 4, model::PauseReason::kStep); });
  ASSERT_EQ(SetOrdersOf(0).size(), 2u);
  EXPECT_EQ(SetOrdersOf(0)[1].spec.pause, model::PauseMode::kNode);
  EXPECT_EQ(SetOrdersOf(0)[1].revision, SetOrdersOf(0)[0].revision);
  EXPECT_FALSE(watchpoints_.PausesLate(rank, hit));
  move([&] { Run(rank, 5); });
  EXPECT_EQ(SetOrdersOf(0).size(), 2u);
}

TEST_F(JobWatchpointsTest, OnlySelectedRanksGetAWatchpoint) {
  Connect(0);
  Connect(1);
  model::WatchpointSpec spec = Nan();
  spec.selection.ranks = {1};
  const uint32_t id = Add(spec);
  EXPECT_TRUE(SetOrdersOf(0).empty());
  ASSERT_EQ(SetOrdersOf(1).size(), 1u);
  model::WatchpointChange change;
  change.selection.emplace().ranks = {0};
  watchpoints_.Change(id, change, [](const auto&) {});
  Settle();
  EXPECT_EQ(SetOrdersOf(0).size(), 1u);
  EXPECT_EQ(SetOrdersOf(1).size(), 1u);
  EXPECT_EQ(LinkOf(1)->OrdersOf<RemoveWatchpointOrder>().size(), 1u);
}

TEST_F(JobWatchpointsTest, AnAgentThatKnowsNamesOnlyIsNamed) {
  Connect(0);
  model::WatchpointSpec spec = Nan();
  spec.selection.op_types = {"addmm"};
  absl::Status refused;
  watchpoints_.Add(spec, [&](const auto& added) { refused = added.status(); });
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(FieldOf(refused), "op_types");
}

TEST_F(JobWatchpointsTest, AnAgentThatCountsNoHitsCannotPassOverThem) {
  Connect(0);
  const uint32_t id = Add(Nan());
  model::WatchpointChange change;
  change.ignore_count = 1;
  absl::Status refused;
  watchpoints_.Change(id, change,
                      [&](const auto& result) { refused = result.status(); });
  EXPECT_EQ(ReasonOf(refused), "unsupported_watchpoint");
  EXPECT_EQ(FieldOf(refused), "ignore_count");
}

TEST_F(JobWatchpointsTest, DoesNotSendWhatWasRemovedInTheMeantime) {
  Connect(0);
  std::optional<absl::Status> added;
  watchpoints_.Add(Nan(), [&](const auto& result) { added = result.status(); });
  watchpoints_.Remove(1, [](const absl::Status&) {});
  Settle();
  EXPECT_EQ(ReasonOf(*added), "unknown_watchpoint");
  EXPECT_TRUE(SetOrdersOf(0).empty());
  EXPECT_TRUE(records_.Contains("watchpoint 1 revision 2 removed"));
}

class UnkeptWatchpointsTest : public JobWatchpointsTest {
 protected:
  // The error that the callback gets when the disk is full.
  std::string ReasonWithAFullDisk() {
    Settle(absl::ResourceExhaustedError("disk full"));
    return reason_;
  }
  template <class Result>
  void Keep(const Result& result) {
    if constexpr (std::is_same_v<Result, absl::Status>) {
      reason_ = ReasonOf(result);
    } else {
      reason_ = ReasonOf(result.status());
    }
  }

  std::string reason_;
};

TEST_F(UnkeptWatchpointsTest, AnAdditionIsUndone) {
  Connect(0);
  watchpoints_.Add(Nan(), [this](const auto& result) { Keep(result); });
  EXPECT_EQ(ReasonWithAFullDisk(), "not_kept");
  EXPECT_TRUE(watchpoints_.List().empty());
  EXPECT_TRUE(records_.Contains("watchpoint 1 revision 2 removed"));
  Settle();
  EXPECT_TRUE(SetOrdersOf(0).empty());
}

TEST_F(UnkeptWatchpointsTest, AChangeIsUndone) {
  Connect(0);
  const uint32_t id = Add(Nan());
  model::WatchpointChange change;
  change.enabled = false;
  watchpoints_.Change(id, change, [this](const auto& result) { Keep(result); });
  EXPECT_EQ(ReasonWithAFullDisk(), "not_kept");
  EXPECT_TRUE(watchpoints_.Get(id)->spec.enabled);
  Settle();
  ASSERT_EQ(SetOrdersOf(0).size(), 2u);
  EXPECT_EQ(SetOrdersOf(0)[1].revision, 3u);
  EXPECT_TRUE(SetOrdersOf(0)[1].spec.enabled);
}

TEST_F(UnkeptWatchpointsTest, ARemovalIsUndone) {
  const uint32_t id = Add(Nan());
  watchpoints_.Remove(id, [this](const auto& result) { Keep(result); });
  EXPECT_EQ(ReasonWithAFullDisk(), "not_kept");
  EXPECT_EQ(watchpoints_.List().size(), 1u);
  EXPECT_TRUE(records_.Contains("watchpoint 1 revision 3"));
}

TEST_F(UnkeptWatchpointsTest, NothingIsTriedWhileTheDiskIsFull) {
  records_.status = absl::ResourceExhaustedError("disk full");
  watchpoints_.Add(Nan(), [this](const auto& result) { Keep(result); });
  EXPECT_EQ(reason_, "not_kept");
  EXPECT_TRUE(records_.lines.empty());
  watchpoints_.AddRecommended([this](const auto& result) { Keep(result); });
  EXPECT_TRUE(watchpoints_.List().empty());
}

TEST_F(JobWatchpointsTest, ForgetsRevisionsThatNoHitMet) {
  const uint32_t id = Add(Nan());
  model::WatchpointChange change;
  for (uint32_t i = 0; i < watch::WatchTable::kSpareRevisions + 2; ++i) {
    change.condition = model::Condition{"max_gt", {{"value", 1.0 * i}}};
    watchpoints_.Change(id, change, [](const auto&) {});
    Settle();
    if (i == 0) watch_table_.MarkMet(id, 2);
  }
  EXPECT_TRUE(records_.Contains("watchpoint 1 revision 1 erased"));
  EXPECT_FALSE(records_.Contains("watchpoint 1 revision 2 erased"));
  EXPECT_EQ(watch_table_.ConditionAt(id, 1), nullptr);
  EXPECT_NE(watch_table_.ConditionAt(id, 2), nullptr);
  EXPECT_NE(watch_table_.ConditionAt(id, 3), nullptr);
}

TEST_F(JobWatchpointsTest, RefusesUnknownOnes) {
  std::optional<absl::Status> status;
  const auto keep = [&](const auto& result) { status = result.status(); };
  watchpoints_.Change(5, {}, keep);
  EXPECT_EQ(ReasonOf(*status), "unknown_watchpoint");
  watchpoints_.Remove(5, [&](const absl::Status& s) { status = s; });
  EXPECT_EQ(ReasonOf(*status), "unknown_watchpoint");
}

TEST_F(JobWatchpointsTest, MarksChangesOfAPausedJobUnchecked) {
  Rank& rank = Connect(0);
  Run(rank, 1);
  Add(Nan());
  EXPECT_TRUE(unchecked_.ids().empty());
  PauseAt(rank, 2, model::PauseReason::kUser);
  const uint32_t id = Add(Nan());
  EXPECT_EQ(unchecked_.ids(), std::set<uint32_t>{id});
  model::WatchpointChange disable;
  disable.enabled = false;
  watchpoints_.Change(id, disable, [](const auto&) {});
  Settle();
  EXPECT_TRUE(unchecked_.ids().empty());
}

TEST_F(JobWatchpointsTest, WelcomesANewProcessWithEnabledWatchpoints) {
  const uint32_t enabled = Add(Nan());
  model::WatchpointSpec spec = Nan();
  spec.enabled = false;
  Add(spec);
  FakeAgentLink link;
  watchpoints_.Welcome("job", link, 0, /*resumed=*/false);
  ASSERT_EQ(link.orders.size(), 2u);
  EXPECT_EQ(link.OrdersOf<WelcomeOrder>()[0].watchpoint_count, 1u);
  EXPECT_EQ(link.OrdersOf<SetWatchpointOrder>()[0].id, enabled);
}

TEST_F(JobWatchpointsTest, CorrectsTheWatchpointsOfAResumedProcess) {
  model::WatchpointSpec disabled = Nan();
  disabled.enabled = false;
  Add(disabled);
  const uint32_t removed = Add(Nan());
  watchpoints_.Remove(removed, [](const absl::Status&) {});
  Settle();
  FakeAgentLink link;
  watchpoints_.Welcome("job", link, 0, /*resumed=*/true);
  EXPECT_TRUE(link.OrdersOf<WelcomeOrder>()[0].resumed);
  EXPECT_EQ(link.OrdersOf<SetWatchpointOrder>().size(), 1u);
  EXPECT_EQ(link.OrdersOf<RemoveWatchpointOrder>()[0].id, removed);
}

TEST_F(JobWatchpointsTest, SeveralRanksPauseAtTheNode) {
  Connect(0, 2);
  model::WatchpointSpec spec = Nan();
  spec.pause = model::PauseMode::kStep;
  Add(spec);
  EXPECT_EQ(SetOrdersOf(0)[0].spec.pause, model::PauseMode::kNode);
}

TEST_F(JobWatchpointsTest, CreatesRecommendedWatchpointsOnce) {
  Connect(0);
  EXPECT_TRUE(watchpoints_.OffersRecommended());
  std::optional<model::RecommendedSet> set;
  const auto keep = [&](const auto& result) { set = *result; };
  watchpoints_.AddRecommended(keep);
  Settle();
  ASSERT_TRUE(set.has_value());
  EXPECT_FALSE(set->made.empty());
  EXPECT_EQ(set->made.size(), set->watchpoints.size());
  EXPECT_FALSE(watchpoints_.OffersRecommended());
  watchpoints_.AddRecommended(keep);
  Settle();
  EXPECT_TRUE(set->made.empty());
}

TEST_F(JobWatchpointsTest, PublishesWhatAgentsCannotCheck) {
  Connect(0);
  const uint32_t id = Add(Nan());
  events_seen_.clear();
  watchpoints_.OnReport(0, {id, 1, absl::InvalidArgumentError("no gradients")});
  EXPECT_EQ(EventsOf(model::Event::Type::kWatchpoint).size(), 1u);
  EXPECT_NE(watchpoints_.Get(id)->error.find("no gradients"),
            std::string::npos);
}

}  // namespace
}  // namespace graphdbg::jobs
