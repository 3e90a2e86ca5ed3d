#include "agent/core/node_interest.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/recorder.h"
#include "agent/core/recorder_switch.h"

namespace graphdbg::agent {
namespace {

class NodeInterestTest : public testing::Test {
 protected:
  NodeInterestTest() {
    a_ = Declare("a");
    b_ = Declare("b");
    gate_.SetConnected(true);
    interest_.Update();
  }

  uint32_t Declare(const std::string& name) {
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name.c_str();
    info.kind = GRAPHDBG_OP;
    const uint32_t node = *nodes_.Declare(info);
    watch_.AddNode(node);
    return node;
  }

  // An op that executed is not of interest just because it is new.
  void Learn(uint32_t node) { nodes_.Facts(node)->Set(kNeverExecuted, false); }

  void Watch(const std::string& node, v1::PauseMode pause) {
    v1::SetWatchpoint message;
    message.set_id(1);
    message.set_enabled(true);
    message.set_pause(pause);
    message.mutable_condition()->set_id("nan");
    message.mutable_selection()->add_nodes(node);
    ASSERT_TRUE(watch_.Set(message).ok());
  }

  int In(uint32_t node) { return interest_.In(*nodes_.Facts(node)); }

  const Host host_;
  NodeTable nodes_;
  WatchTable watch_{&nodes_};
  Bindings bindings_;
  RequestedNodes requested_{&nodes_};
  Devices devices_{&host_, [](const std::string&) {}};
  ValueKeeper values_{{&host_, &nodes_, &bindings_, &requested_, &devices_},
                      1000,
                      /*partial_memory=*/false};
  Gate gate_{&host_,
             &nodes_,
             {[](const v1::StateUpdate&) {},
              [](uint64_t, const absl::Status&) {}, [] {}},
             /*hold=*/false};
  RecorderSwitch recorders_;
  NodeInterest interest_{
      {&nodes_, &gate_, &watch_, &requested_, &values_, &recorders_},
      /*partial_memory=*/false};
  uint32_t a_, b_;
};

TEST_F(NodeInterestTest, NewNodesAreOfOptionalInterest) {
  EXPECT_EQ(In(a_), GRAPHDBG_INTEREST_OPTIONAL);
  Learn(a_);
  EXPECT_EQ(In(a_), GRAPHDBG_INTEREST_NONE);
}

TEST_F(NodeInterestTest, WatchedNodesAreRequired) {
  Learn(a_);
  Learn(b_);
  Watch("a", v1::PAUSE_MODE_NONE);
  interest_.Update();
  EXPECT_EQ(In(a_), GRAPHDBG_INTEREST_REQUIRED);
  EXPECT_EQ(In(b_), GRAPHDBG_INTEREST_NONE);
}

TEST_F(NodeInterestTest, IsSettledAfterTheFirstStepsUnlessAllIsFollowed) {
  for (int step = 0; step < 9; ++step) interest_.EndStep();
  interest_.Update();
  EXPECT_FALSE(interest_.settled());
  interest_.EndStep();
  interest_.Update();
  EXPECT_TRUE(interest_.settled());
  interest_.FollowAll(true);
  interest_.Update();
  EXPECT_FALSE(interest_.settled());
}

TEST_F(NodeInterestTest, IsIdleOnceNothingIsAskedForAStepLong) {
  for (int step = 0; step < 10; ++step) interest_.EndStep();
  interest_.Update();
  EXPECT_FALSE(interest_.idle());
  interest_.FinishStep();
  EXPECT_TRUE(interest_.idle());
  v1::Command command;
  command.set_id(1);
  command.mutable_pause();
  gate_.Apply(command, 0);
  interest_.Update();
  EXPECT_FALSE(interest_.idle());
  gate_.Resume();
  interest_.Update();
  // The step has left something to do.
  EXPECT_FALSE(interest_.idle());
  interest_.FinishStep();
  EXPECT_TRUE(interest_.idle());
  Watch("a", v1::PAUSE_MODE_NONE);
  interest_.Update();
  interest_.FinishStep();
  EXPECT_FALSE(interest_.idle());
}

TEST_F(NodeInterestTest, IsCalmAlsoWhileTheOverviewIsMeasured) {
  for (int step = 0; step < 10; ++step) interest_.EndStep();
  std::vector<std::string> problems;
  ExecutionCounter counter;
  Recorder::Parts parts = {};
  parts.nodes = &nodes_;
  parts.counter = &counter;
  RecordSettings settings = OverviewSettings(std::nullopt);
  const auto recorder =
      std::make_shared<Recorder>(parts, std::move(settings), &problems);
  recorder->OpenWithoutFiles();
  recorders_.Set(recorder);
  interest_.Update();
  interest_.FinishStep();
  EXPECT_TRUE(interest_.calm());
  EXPECT_FALSE(interest_.idle());
  // In the first step that it records, it learns about all ops.
  EXPECT_TRUE(interest_.Knows(*recorder));
  recorder->LearnGraph();
  recorder->Begin(11);
  EXPECT_FALSE(interest_.Knows(*recorder));
  interest_.Update();
  EXPECT_TRUE(interest_.Knows(*recorder));
  Watch("a", v1::PAUSE_MODE_NONE);
  interest_.Update();
  interest_.FinishStep();
  EXPECT_FALSE(interest_.calm());
}

// If a hit pauses the program, users look at the values of other nodes.
TEST_F(NodeInterestTest, OtherNodesAreOptionalIfAHitMayPause) {
  Learn(b_);
  Watch("a", v1::PAUSE_MODE_NODE);
  interest_.Update();
  EXPECT_EQ(In(b_), GRAPHDBG_INTEREST_OPTIONAL);
  EXPECT_FALSE(interest_.every_node_stops());
}

TEST_F(NodeInterestTest, APendingPauseRequiresEveryNode) {
  Learn(a_);
  v1::Command command;
  command.set_id(1);
  command.mutable_pause();
  gate_.Apply(command, 0);
  interest_.Update();
  EXPECT_EQ(In(a_), GRAPHDBG_INTEREST_REQUIRED);
  EXPECT_TRUE(interest_.every_node_stops());
}

TEST_F(NodeInterestTest, OpsAreReportedOnlyIfThereIsAReasonAfterTheFirstStep) {
  EXPECT_EQ(interest_.Update(), GRAPHDBG_LEVEL_OPS);
  interest_.EndStep();
  EXPECT_EQ(interest_.Update(), GRAPHDBG_LEVEL_STEPS);
  Watch("a", v1::PAUSE_MODE_NONE);
  EXPECT_EQ(interest_.Update(), GRAPHDBG_LEVEL_OPS);
}

TEST_F(NodeInterestTest, CatchingAValueRequiresItsNode) {
  Learn(a_);
  interest_.EndStep();
  requested_.Catch(a_, 0);
  EXPECT_EQ(interest_.Update(), GRAPHDBG_LEVEL_OPS);
  EXPECT_EQ(In(a_), GRAPHDBG_INTEREST_REQUIRED);
}

TEST_F(NodeInterestTest, SeeksOnlyNonFiniteUntilSomethingElseIsWanted) {
  EXPECT_FALSE(interest_.only_nonfinite());
  Watch("a", v1::PAUSE_MODE_NODE);
  interest_.Update();
  EXPECT_TRUE(interest_.only_nonfinite());
  requested_.Catch(a_, 0);
  interest_.Update();
  EXPECT_FALSE(interest_.only_nonfinite());
}

TEST_F(NodeInterestTest, StaysOffOnceTurnedOff) {
  interest_.TurnOff();
  EXPECT_FALSE(interest_.any());
  interest_.Update();
  EXPECT_FALSE(interest_.any());
}

}  // namespace
}  // namespace graphdbg::agent
