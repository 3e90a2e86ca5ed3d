#include "agent/core/gate.h"

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using ::testing::ElementsAre;

// Runs each execution point on a thread of its own, and records what is
// reported.
class GateTest : public testing::Test {
 protected:
  GateTest() {
    graphdbg_host callbacks = {};
    callbacks.struct_size = sizeof(callbacks);
    callbacks.user = this;
    callbacks.interrupted = [](void* user, void*) {
      return static_cast<GateTest*>(user)->interrupted_.load() ? 1 : 0;
    };
    host_ = Host(&callbacks);
    Make(/*hold=*/false);
  }

  void Make(bool hold, uint64_t step_limit = 0) {
    gate_ = std::make_unique<Gate>(
        &host_, &nodes_,
        Gate::Listener{[this](const v1::StateUpdate& state) {
                         MutexLock lock(&mu_);
                         states_.push_back(state);
                         changed_.NotifyAll();
                       },
                       [this](uint64_t id, const absl::Status& status) {
                         MutexLock lock(&mu_);
                         results_.push_back({id, status.code()});
                       },
                       [] {}},
        hold, step_limit);
    gate_->SetConnected(true);
  }

  std::future<graphdbg_status> Node(uint32_t node,
                                    std::vector<uint32_t> hits = {}) {
    return std::async(std::launch::async,
                      [this, node, hits] { return gate_->AtNode(node, hits); });
  }
  std::future<graphdbg_status> StepEnd(uint64_t step,
                                       std::vector<uint32_t> hits = {}) {
    return std::async(std::launch::async, [this, step, hits] {
      return gate_->AtStepEnd(step, hits);
    });
  }

  uint32_t Declare(const std::string& name) {
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name.c_str();
    info.kind = GRAPHDBG_OP;
    return nodes_.Declare(info).value_or(0);
  }

  // Waits for a pause and returns its state.
  v1::StateUpdate WaitForPause() {
    MutexLock lock(&mu_);
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (states_.empty() || states_.back().state() != v1::RUN_STATE_PAUSED) {
      if (!changed_.WaitUntil(&mu_, deadline)) {
        ADD_FAILURE() << "the program was not paused in time";
        break;
      }
    }
    return states_.empty() ? v1::StateUpdate() : states_.back();
  }

  void Continue() {
    v1::Command command;
    command.set_id(++last_id_);
    command.mutable_continue_();
    gate_->Apply(command, 0);
  }
  void Step(uint64_t steps) {
    v1::Command command;
    command.set_id(++last_id_);
    command.mutable_step()->set_steps(steps);
    gate_->Apply(command, 0);
  }
  void NextNode() {
    v1::Command command;
    command.set_id(++last_id_);
    command.mutable_next_node();
    gate_->Apply(command, 0);
  }
  void NextNodeWithin(const std::string& scope) {
    v1::Command command;
    command.set_id(++last_id_);
    command.mutable_next_node()->set_within(scope);
    gate_->Apply(command, 0);
  }
  void ContinueTo(uint32_t node) {
    v1::Command command;
    command.set_id(++last_id_);
    command.mutable_continue_to()->set_node("any");
    gate_->Apply(command, node);
  }
  void Pause() {
    v1::Command command;
    command.set_id(++last_id_);
    command.mutable_pause();
    gate_->Apply(command, 0);
  }
  void PauseAtStepEnd() {
    v1::Command command;
    command.set_id(++last_id_);
    command.mutable_pause()->set_at_step_end(true);
    gate_->Apply(command, 0);
  }
  void StepPastHits() {
    v1::Command command;
    command.set_id(++last_id_);
    command.mutable_step()->set_steps(1);
    command.mutable_step()->set_past_hits(true);
    gate_->Apply(command, 0);
  }
  void Terminate() {
    v1::Command command;
    command.set_id(++last_id_);
    command.mutable_terminate();
    gate_->Apply(command, 0);
  }

  // Starts, waits for the pause, and continues.
  void StartWith(const std::function<void()>& order) {
    auto start = std::async(std::launch::async,
                            [this] { return gate_->Start(true, {}); });
    EXPECT_EQ(WaitForPause().reason(), v1::PAUSE_REASON_START);
    order();
    EXPECT_EQ(start.get(), GRAPHDBG_OK);
  }

  std::vector<v1::StateUpdate> states() {
    MutexLock lock(&mu_);
    return states_;
  }
  std::vector<std::pair<uint64_t, absl::StatusCode>> results() {
    MutexLock lock(&mu_);
    return results_;
  }

  std::atomic<bool> interrupted_{false};
  Host host_;
  NodeTable nodes_;
  Mutex mu_;
  CondVar changed_;
  std::vector<v1::StateUpdate> states_ GRAPHDBG_GUARDED_BY(mu_);
  std::vector<std::pair<uint64_t, absl::StatusCode>> results_
      GRAPHDBG_GUARDED_BY(mu_);
  uint64_t last_id_ = 0;
  std::unique_ptr<Gate> gate_;
};

TEST_F(GateTest, TheStepLimitHoldsAfterOtherCommands) {
  Make(/*hold=*/false, /*step_limit=*/2);
  EXPECT_EQ(gate_->Start(/*wait=*/false, {}), GRAPHDBG_OK);
  auto hit = StepEnd(1, {7});
  EXPECT_EQ(WaitForPause().reason(), v1::PAUSE_REASON_WATCHPOINT);
  Continue();
  EXPECT_EQ(hit.get(), GRAPHDBG_OK);
  auto last = StepEnd(2);
  EXPECT_EQ(WaitForPause().reason(), v1::PAUSE_REASON_STEP);
  Continue();
  EXPECT_EQ(last.get(), GRAPHDBG_OK);
}

TEST_F(GateTest, TheStepLimitDoesNotHoldAProgramWithoutAServer) {
  Make(/*hold=*/true, /*step_limit=*/1);
  gate_->SetConnected(false);
  EXPECT_EQ(gate_->AtStepEnd(1, {}), GRAPHDBG_OK);
}

TEST_F(GateTest, AProgramThatFailsStopsAndOnlyEnds) {
  EXPECT_EQ(gate_->Start(/*wait=*/false, {}), GRAPHDBG_OK);
  Gate::Failure failure;
  failure.step = 3;
  failure.node = 5;
  failure.exception.set_type("ValueError");
  failure.resume_if_unattended = true;
  auto failed =
      std::async(std::launch::async, [&] { return gate_->AtFailure(failure); });
  const v1::StateUpdate pause = WaitForPause();
  EXPECT_EQ(pause.reason(), v1::PAUSE_REASON_ERROR);
  EXPECT_EQ(pause.step(), 3u);
  EXPECT_EQ(pause.node_id(), 5u);
  EXPECT_EQ(pause.exception().type(), "ValueError");
  EXPECT_TRUE(pause.resume_if_unattended());
  Step(1);
  EXPECT_EQ(results().back().second, absl::StatusCode::kFailedPrecondition);
  Continue();
  EXPECT_EQ(failed.get(), GRAPHDBG_OK);
}

TEST_F(GateTest, FreeProgramsPass) {
  EXPECT_EQ(gate_->Start(false, {}), GRAPHDBG_OK);
  EXPECT_EQ(gate_->AtNode(1, {}), GRAPHDBG_OK);
  EXPECT_EQ(gate_->AtStepEnd(1, {}), GRAPHDBG_OK);
  ASSERT_EQ(states().size(), 1u);
  EXPECT_EQ(states()[0].state(), v1::RUN_STATE_RUNNING);
  EXPECT_EQ(states()[0].step(), 0u);
}

TEST_F(GateTest, StepsCountFromWhereTheProgramStands) {
  StartWith([&] { Step(2); });
  EXPECT_EQ(gate_->AtNode(1, {}), GRAPHDBG_OK);
  EXPECT_EQ(gate_->AtStepEnd(1, {}), GRAPHDBG_OK);
  auto end = StepEnd(2);
  v1::StateUpdate pause = WaitForPause();
  EXPECT_EQ(pause.reason(), v1::PAUSE_REASON_STEP);
  EXPECT_EQ(pause.step(), 2u);
  EXPECT_TRUE(pause.step_ended());
  NextNode();
  EXPECT_EQ(end.get(), GRAPHDBG_OK);
  auto node = Node(7);
  pause = WaitForPause();
  EXPECT_EQ(pause.reason(), v1::PAUSE_REASON_NODE);
  EXPECT_EQ(pause.step(), 3u);
  EXPECT_EQ(pause.node_id(), 7u);
  // Within step 3, its own end counts.
  Step(1);
  EXPECT_EQ(node.get(), GRAPHDBG_OK);
  end = StepEnd(3);
  EXPECT_EQ(WaitForPause().step(), 3u);
  Continue();
  EXPECT_EQ(end.get(), GRAPHDBG_OK);
}

TEST_F(GateTest, PassesOverNodesThatAreNoGoal) {
  const uint32_t inner = Declare("forward/fc/addmm");
  const uint32_t own = Declare("forward/relu");
  StartWith([&] { NextNodeWithin("forward"); });
  EXPECT_TRUE(gate_->needs().every_node);
  EXPECT_EQ(gate_->AtNode(inner, {}), GRAPHDBG_OK);
  auto node = Node(own);
  const v1::StateUpdate pause = WaitForPause();
  EXPECT_EQ(pause.reason(), v1::PAUSE_REASON_NODE);
  EXPECT_EQ(pause.node_id(), own);
  Continue();
  EXPECT_EQ(node.get(), GRAPHDBG_OK);
}

TEST_F(GateTest, StopsAtTheStepsEndIfNoNodeIsTheGoal) {
  const uint32_t inner = Declare("forward/fc/addmm");
  StartWith([&] { NextNodeWithin("forward"); });
  EXPECT_EQ(gate_->AtNode(inner, {}), GRAPHDBG_OK);
  auto end = StepEnd(1);
  const v1::StateUpdate pause = WaitForPause();
  EXPECT_EQ(pause.reason(), v1::PAUSE_REASON_STEP);
  EXPECT_EQ(pause.step(), 1u);
  // The next node, whichever it is, may be in the next step.
  NextNode();
  EXPECT_EQ(end.get(), GRAPHDBG_OK);
  EXPECT_EQ(gate_->AtStepEnd(2, {}), GRAPHDBG_OK);
  auto node = Node(inner);
  EXPECT_EQ(WaitForPause().node_id(), inner);
  Continue();
  EXPECT_EQ(node.get(), GRAPHDBG_OK);
}

TEST_F(GateTest, RunsUntilTheNodeInAnyStep) {
  StartWith([&] { ContinueTo(5); });
  EXPECT_EQ(gate_->needs().awaited_node, 5u);
  EXPECT_EQ(gate_->AtNode(4, {}), GRAPHDBG_OK);
  EXPECT_EQ(gate_->AtStepEnd(1, {}), GRAPHDBG_OK);
  auto node = Node(5);
  EXPECT_EQ(WaitForPause().reason(), v1::PAUSE_REASON_NODE);
  EXPECT_EQ(gate_->needs().awaited_node, 0u);
  Continue();
  EXPECT_EQ(node.get(), GRAPHDBG_OK);
  EXPECT_EQ(gate_->AtNode(5, {}), GRAPHDBG_OK);
}

TEST_F(GateTest, AWatchpointIsTheReasonAboveAllOthers) {
  StartWith([&] { NextNode(); });
  auto node = Node(3, {2, 9});
  v1::StateUpdate pause = WaitForPause();
  EXPECT_EQ(pause.reason(), v1::PAUSE_REASON_WATCHPOINT);
  EXPECT_THAT(pause.watchpoints(), ElementsAre(2, 9));
  Step(1);
  node.get();
  auto end = StepEnd(1, {4});
  pause = WaitForPause();
  EXPECT_EQ(pause.reason(), v1::PAUSE_REASON_WATCHPOINT);
  EXPECT_EQ(pause.node_id(), 0u);
  Continue();
  end.get();
}

TEST_F(GateTest, ANodeIsAStrongerReasonThanAPauseByHand) {
  StartWith([&] { ContinueTo(3); });
  Pause();
  const auto answer = std::make_pair(last_id_, absl::StatusCode::kOk);
  auto node = Node(3);
  EXPECT_EQ(WaitForPause().reason(), v1::PAUSE_REASON_NODE);
  Continue();
  EXPECT_EQ(node.get(), GRAPHDBG_OK);
  // The pause command has taken effect as well, and was answered.
  EXPECT_THAT(results(), testing::Contains(answer));
  EXPECT_EQ(gate_->AtNode(4, {}), GRAPHDBG_OK);
}

TEST_F(GateTest, AllThreadsStopWhileItIsClosed) {
  StartWith([&] { Continue(); });
  Pause();
  EXPECT_TRUE(gate_->needs().every_node);
  auto first = Node(1);
  WaitForPause();
  auto second = Node(2);
  auto third = StepEnd(1);
  EXPECT_TRUE(gate_->needs().every_node);
  Continue();
  EXPECT_EQ(first.get(), GRAPHDBG_OK);
  EXPECT_EQ(second.get(), GRAPHDBG_OK);
  EXPECT_EQ(third.get(), GRAPHDBG_OK);
}

TEST_F(GateTest, CommandsThatDoNotFitAreRefused) {
  EXPECT_EQ(gate_->Start(false, {}), GRAPHDBG_OK);
  Continue();
  EXPECT_EQ(results().back().second, absl::StatusCode::kFailedPrecondition);
  Step(1);
  EXPECT_EQ(results().back().second, absl::StatusCode::kFailedPrecondition);
  ContinueTo(0);
  EXPECT_EQ(results().back().second, absl::StatusCode::kNotFound);
  EXPECT_EQ(gate_->AtNode(1, {}), GRAPHDBG_OK);
}

TEST_F(GateTest, ContinueTakesBackAPauseThatHasNotCome) {
  EXPECT_EQ(gate_->Start(false, {}), GRAPHDBG_OK);
  Pause();
  EXPECT_TRUE(results().empty());
  Continue();
  EXPECT_EQ(results().size(), 2u);
  EXPECT_EQ(gate_->AtNode(1, {}), GRAPHDBG_OK);
}

TEST_F(GateTest, APauseAtTheStepsEndTellsWhichOneAndPassesNodes) {
  StartWith([&] { Continue(); });
  EXPECT_EQ(gate_->AtStepEnd(1, {}), GRAPHDBG_OK);
  PauseAtStepEnd();
  EXPECT_EQ(states().back().state(), v1::RUN_STATE_RUNNING);
  EXPECT_EQ(states().back().pauses_after(), 2u);
  EXPECT_FALSE(gate_->needs().every_node);
  EXPECT_TRUE(gate_->needs().tensors);
  EXPECT_EQ(gate_->AtNode(1, {}), GRAPHDBG_OK);
  EXPECT_EQ(states().back().pauses_after(), 2u);
  auto end = StepEnd(2);
  const v1::StateUpdate pause = WaitForPause();
  EXPECT_EQ(pause.reason(), v1::PAUSE_REASON_USER);
  EXPECT_EQ(pause.step(), 2u);
  EXPECT_EQ(pause.pauses_after(), 0u);
  Continue();
  EXPECT_EQ(end.get(), GRAPHDBG_OK);
}

TEST_F(GateTest, APauseAnywhereIsNotPutOffByOneAtTheStepsEnd) {
  StartWith([&] { Continue(); });
  Pause();
  PauseAtStepEnd();
  auto node = Node(1);
  EXPECT_EQ(WaitForPause().reason(), v1::PAUSE_REASON_USER);
  Continue();
  EXPECT_EQ(node.get(), GRAPHDBG_OK);
}

TEST_F(GateTest, AStepPastHitsStopsAtItsEnd) {
  StartWith([&] { Continue(); });
  auto hit = Node(1, {7});
  WaitForPause();
  StepPastHits();
  EXPECT_EQ(hit.get(), GRAPHDBG_OK);
  EXPECT_EQ(gate_->AtNode(2, {7}), GRAPHDBG_OK);
  auto end = StepEnd(1);
  EXPECT_EQ(WaitForPause().reason(), v1::PAUSE_REASON_STEP);
  Continue();
  EXPECT_EQ(end.get(), GRAPHDBG_OK);
  // It applied to one step only.
  auto again = Node(3, {7});
  EXPECT_EQ(WaitForPause().reason(), v1::PAUSE_REASON_WATCHPOINT);
  Continue();
  EXPECT_EQ(again.get(), GRAPHDBG_OK);
}

TEST_F(GateTest, TerminateEndsAWaitAndAllThatFollow) {
  StartWith([&] { NextNode(); });
  auto node = Node(1);
  WaitForPause();
  Terminate();
  EXPECT_EQ(node.get(), GRAPHDBG_TERMINATE);
  EXPECT_EQ(gate_->AtNode(2, {1}), GRAPHDBG_TERMINATE);
  EXPECT_EQ(gate_->AtStepEnd(1, {}), GRAPHDBG_TERMINATE);
  EXPECT_TRUE(gate_->terminating());
  Continue();
  EXPECT_EQ(results().back().second, absl::StatusCode::kFailedPrecondition);
}

TEST_F(GateTest, AnInterruptOpensIt) {
  EXPECT_EQ(gate_->Start(false, {}), GRAPHDBG_OK);
  interrupted_ = true;
  EXPECT_EQ(gate_->AtNode(1, {1}), GRAPHDBG_INTERRUPTED);
  EXPECT_FALSE(gate_->closed_since());
  interrupted_ = false;
  EXPECT_EQ(gate_->AtNode(2, {}), GRAPHDBG_OK);
}

TEST_F(GateTest, WithoutAServerNothingStops) {
  StartWith([&] { Step(1); });
  gate_->SetConnected(false);
  EXPECT_EQ(gate_->AtNode(1, {1}), GRAPHDBG_OK);
  EXPECT_EQ(gate_->AtStepEnd(1, {}), GRAPHDBG_OK);
}

TEST_F(GateTest, WithHoldItStopsAndWaitsForTheServer) {
  Make(/*hold=*/true);
  EXPECT_EQ(gate_->Start(false, {}), GRAPHDBG_OK);
  gate_->SetConnected(false);
  auto node = Node(1, {1});
  WaitForPause();
  gate_->SetConnected(true);
  Continue();
  EXPECT_EQ(node.get(), GRAPHDBG_OK);
}

TEST_F(GateTest, TheStepIsToldAgainOnlyWhenItChanged) {
  EXPECT_EQ(gate_->Start(false, {}), GRAPHDBG_OK);
  gate_->ReportState(false);
  EXPECT_EQ(states().size(), 1u);
  gate_->AtStepEnd(1, {});
  gate_->ReportState(false);
  ASSERT_EQ(states().size(), 2u);
  EXPECT_EQ(states()[1].step(), 1u);
  gate_->ReportState(true);
  EXPECT_EQ(states().size(), 3u);
}

// Otherwise a tensor could be read while the program writes it.
TEST_F(GateTest, AReaderHoldsThePauseUntilItIsThrough) {
  StartWith([&] { NextNode(); });
  auto node = Node(1);
  WaitForPause();
  Gate::Hold hold = gate_->HoldPaused();
  ASSERT_TRUE(hold.held());
  EXPECT_GT(hold.pause(), 0u);
  Continue();
  EXPECT_EQ(node.wait_for(std::chrono::milliseconds(20)),
            std::future_status::timeout);
  hold.Release();
  EXPECT_EQ(node.get(), GRAPHDBG_OK);
  EXPECT_FALSE(gate_->HoldPaused().held());
}

TEST_F(GateTest, RunsToANodeThatIsDeclaredLater) {
  StartWith([&] {
    v1::Command command;
    command.set_id(++last_id_);
    command.mutable_continue_to()->set_node("later");
    command.mutable_continue_to()->set_pending(true);
    gate_->Apply(command, 0);
  });
  EXPECT_TRUE(gate_->needs().new_nodes);
  EXPECT_EQ(gate_->awaited(), "later");
  EXPECT_EQ(gate_->AtNode(1, {}), GRAPHDBG_OK);
  gate_->NodeDeclared("other", 2);
  EXPECT_EQ(gate_->AtNode(2, {}), GRAPHDBG_OK);
  gate_->NodeDeclared("later", 3);
  EXPECT_FALSE(gate_->needs().new_nodes);
  EXPECT_EQ(gate_->needs().awaited_node, 3u);
  auto node = Node(3);
  EXPECT_EQ(WaitForPause().reason(), v1::PAUSE_REASON_NODE);
  EXPECT_EQ(gate_->awaited(), "");
  Continue();
  EXPECT_EQ(node.get(), GRAPHDBG_OK);
  gate_->NodeDeclared("later", 4);
  EXPECT_EQ(gate_->needs().awaited_node, 0u);
}

}  // namespace
}  // namespace graphdbg::agent
