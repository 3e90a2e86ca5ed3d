#include "server/jobs/command_dispatcher.h"

#include <gtest/gtest.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/jobs/testing/job_fixture.h"
#include "server/model/enum_names.h"

namespace graphdbg::jobs {
namespace {

using model::ControlVerb;
using model::PauseReason;

class CommandDispatcherTest : public JobFixture {
 protected:
  std::string ReasonFor(const model::ControlRequest& request) {
    const auto id = dispatcher_.Dispatch(request);
    return id.ok() ? "" : ReasonOf(id.status());
  }

  static model::ControlRequest Request(ControlVerb verb, uint64_t steps = 1) {
    model::ControlRequest request;
    request.verb = verb;
    request.steps = steps;
    return request;
  }

  std::vector<CommandOrder> CommandsOf(uint32_t rank) const {
    return LinkOf(rank)->OrdersOf<CommandOrder>();
  }

  CommandSender sender_{machine_, 0};
  RankGroup group_{machine_, sender_, tasks_, std::chrono::seconds(10)};
  CommandDispatcher dispatcher_{machine_, sender_,    group_,
                                graph_,   unchecked_, events_};
};

TEST_F(CommandDispatcherTest, SendsTheCommandAndPublishesIt) {
  PauseAt(Connect(0), 2, PauseReason::kStep);
  const auto id = dispatcher_.Dispatch(Request(ControlVerb::kStep, 3));
  ASSERT_TRUE(id.ok()) << id.status();
  ASSERT_EQ(CommandsOf(0).size(), 1u);
  EXPECT_EQ(CommandsOf(0)[0].steps, 3u);
  EXPECT_FALSE(CommandsOf(0)[0].at_step_end);
  const auto events = EventsOf(model::Event::Type::kCommand);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].command_id, *id);
}

TEST_F(CommandDispatcherTest, ResumesNoModelThatIsOnlyShown) {
  Rank& rank = Connect(0);
  rank.hello.framework = "onnx";
  PauseAt(rank, 0, PauseReason::kStart);
  for (const ControlVerb verb : {ControlVerb::kContinue, ControlVerb::kStep}) {
    const auto id = dispatcher_.Dispatch(Request(verb));
    ASSERT_FALSE(id.ok());
    EXPECT_EQ(ReasonOf(id.status()), "invalid_state");
    EXPECT_NE(id.status().message().find("not run"), std::string::npos);
  }
  EXPECT_EQ(ReasonFor(Request(ControlVerb::kTerminate)), "");
}

TEST_F(CommandDispatcherTest, ChecksArgumentsAndState) {
  Rank& rank = Connect(0);
  AddNodes(rank, {"forward/log"});
  PauseAt(rank, 2, PauseReason::kStep);
  EXPECT_EQ(ReasonFor(Request(ControlVerb::kStep, 0)), "invalid_steps");
  EXPECT_EQ(ReasonFor(Request(ControlVerb::kPause)), "invalid_state");
  model::ControlRequest to = Request(ControlVerb::kContinueTo);
  to.node = "forward/exp";
  EXPECT_EQ(ReasonFor(to), "unknown_node");
  to.rank = 4;
  EXPECT_EQ(ReasonFor(to), "unknown_rank");
  to.rank.reset();
  to.pending = true;
  EXPECT_EQ(ReasonFor(to), "");
}

TEST_F(CommandDispatcherTest, RefusesToContinueToWhatNeverExecutes) {
  Rank& rank = Connect(0);
  graph::GraphPatch patch;
  for (const auto kind : {model::NodeKind::kOp, model::NodeKind::kParameter,
                          model::NodeKind::kBuffer, model::NodeKind::kConstant,
                          model::NodeKind::kInput}) {
    graph::NodeRecord& record = patch.nodes.emplace_back();
    record.id = static_cast<uint32_t>(patch.nodes.size());
    record.name = absl::StrCat("forward/fc/", std::string(ToString(kind)));
    record.kind = kind;
  }
  ASSERT_TRUE(graph_.Apply(patch, rank.ids).ok());
  PauseAt(rank, 2, PauseReason::kStep);
  model::ControlRequest to = Request(ControlVerb::kContinueTo);
  for (const char* name :
       {"forward/fc/parameter", "forward/fc/buffer", "forward/fc/constant",
        "forward/fc/input", "forward/fc"}) {
    to.node = name;
    for (const bool pending : {false, true}) {
      to.pending = pending;
      const auto id = dispatcher_.Dispatch(to);
      ASSERT_FALSE(id.ok()) << name;
      EXPECT_EQ(ReasonOf(id.status()), "not_executable");
      EXPECT_EQ(FieldOf(id.status()), "node");
    }
  }
  // Nothing was sent, so the job is still paused and can be controlled.
  EXPECT_TRUE(CommandsOf(0).empty());
  EXPECT_TRUE(EventsOf(model::Event::Type::kCommand).empty());
  to.node = "forward/fc/op";
  EXPECT_EQ(ReasonFor(to), "");
}

TEST_F(CommandDispatcherTest, PassesOverNodesIfTheAgentCan) {
  Rank& rank = Connect(0);
  AddNodes(rank, {"forward/fc/addmm"});
  PauseAt(rank, 2, PauseReason::kStep);
  model::ControlRequest next = Request(ControlVerb::kNextNode);
  next.passed.outside = "forward/fc";
  const auto refused = dispatcher_.Dispatch(next);
  EXPECT_EQ(ReasonOf(refused.status()), "unsupported_command");
  EXPECT_EQ(FieldOf(refused.status()), "outside");
  rank.hello.passes_over = true;
  next.passed.outside = "forward/cf";
  EXPECT_EQ(ReasonFor(next), "unknown_scope");
  EXPECT_TRUE(CommandsOf(0).empty());
  next.passed.outside = "forward/fc";
  EXPECT_EQ(ReasonFor(next), "");
  EXPECT_EQ(CommandsOf(0)[0].passed.outside, "forward/fc");
}

TEST_F(CommandDispatcherTest, RefusesWhatOneRankDoesNotSupport) {
  Rank& rank = Connect(0);
  rank.hello.unsupported[ControlVerb::kNextNode] = "no single ops";
  PauseAt(rank, 2, PauseReason::kStep);
  EXPECT_EQ(ReasonFor(Request(ControlVerb::kNextNode)), "unsupported_command");
}

TEST_F(CommandDispatcherTest, WaitsForThePreviousCommandToTakeEffect) {
  PauseAt(Connect(0), 2, PauseReason::kStep);
  EXPECT_EQ(ReasonFor(Request(ControlVerb::kContinue)), "");
  EXPECT_EQ(ReasonFor(Request(ControlVerb::kContinue)), "invalid_state");
  EXPECT_EQ(CommandsOf(0).size(), 1u);
}

TEST_F(CommandDispatcherTest, SendsToTheRanksWhoseStateFits) {
  PauseAt(Connect(0), 2, PauseReason::kStep);
  Run(Connect(1), 2);
  EXPECT_EQ(ReasonFor(Request(ControlVerb::kPause)), "");
  EXPECT_TRUE(CommandsOf(0).empty());
  EXPECT_EQ(CommandsOf(1).size(), 1u);
}

TEST_F(CommandDispatcherTest, StepsRanksOfAGroupToTheSameStep) {
  PauseAt(Connect(0, 2), 2, PauseReason::kStep);
  PauseAt(Connect(1, 2), 3, PauseReason::kStep);
  EXPECT_EQ(ReasonFor(Request(ControlVerb::kStep, 2)), "");
  EXPECT_EQ(CommandsOf(0)[0].steps, 3u);
  EXPECT_EQ(CommandsOf(1)[0].steps, 2u);
}

TEST_F(CommandDispatcherTest, ContinuingAGroupWithdrawsPendingPauses) {
  PauseAt(Connect(0, 2), 2, PauseReason::kStep);
  Rank& running = Connect(1, 2);
  Run(running, 2);
  CommandOrder pause;
  pause.id = sender_.Open({1});
  pause.verb = ControlVerb::kPause;
  sender_.Send(running, pause);
  EXPECT_EQ(ReasonFor(Request(ControlVerb::kContinue)), "");
  EXPECT_EQ(CommandsOf(1).back().verb, ControlVerb::kContinue);
  EXPECT_EQ(running.run.state, model::JobState::kRunning);
}

TEST_F(CommandDispatcherTest, ARecheckTakesTheUncheckedWatchpoints) {
  PauseAt(Connect(0), 2, PauseReason::kStep);
  unchecked_.OnChanged(4, true);
  EXPECT_EQ(ReasonFor(Request(ControlVerb::kRecheck)), "");
  EXPECT_EQ(CommandsOf(0)[0].watchpoints, std::vector<uint32_t>{4});
  EXPECT_TRUE(unchecked_.ids().empty());
  EXPECT_EQ(EventsOf(model::Event::Type::kState).size(), 1u);
}

TEST_F(CommandDispatcherTest, ReportsAJobWithoutConnectedAgents) {
  Rank& rank = Connect(0);
  PauseAt(rank, 2, PauseReason::kStep);
  rank.link.reset();
  EXPECT_EQ(ReasonFor(Request(ControlVerb::kContinue)), "job_gone");
  machine_.OnDisconnected(rank);
  EXPECT_EQ(ReasonFor(Request(ControlVerb::kContinue)), "invalid_state");
}

}  // namespace
}  // namespace graphdbg::jobs
