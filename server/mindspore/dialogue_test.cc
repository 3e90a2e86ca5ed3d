// One side of the conversation, where what matters is what comes in between.
#include "server/mindspore/dialogue.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace graphdbg::mindspore {
namespace {

using debugger::EventReply;
using model::ControlVerb;

constexpr char kOp[] = "Default/a-op1";

class DialogueTest : public testing::Test {
 protected:
  // A client on `backend` that stands at its start, of a job that is there.
  void Begin(const std::string& version, const std::string& backend) {
    client_.set_ms_version(version);
    client_.set_backend(backend);
    dialogue_.Met(client_);
    debugger::GraphProto graph;
    graph.set_name("kernel_graph_0");
    debugger::NodeProto& node = *graph.add_node();
    node.set_name("1");
    node.set_full_name(kOp);
    node.set_op_type("ReLU");
    node.mutable_output_type()->set_data_type(debugger::DT_TENSOR);
    dialogue_.Graphs({graph});
    dialogue_.set_attached(true);
    dialogue_.Asks(client_);
    dialogue_.TakeReports();
  }
  void Order(ControlVerb verb, uint64_t steps = 1) {
    jobs::CommandOrder order;
    order.id = 7;
    order.verb = verb;
    order.steps = steps;
    dialogue_.Order(order);
  }
  void AskAt(int step, const std::string& node = "") {
    client_.set_cur_step(step);
    client_.set_cur_node(node);
    dialogue_.Asks(client_);
  }
  // The level of the next run command; empty if there is none.
  std::string NextRun() {
    const auto reply = dialogue_.Next();
    return reply ? reply->run_cmd().run_level() : "";
  }
  // The last report of where it stands.
  jobs::RunReport Stands() {
    jobs::RunReport last;
    for (jobs::AgentReport& report : dialogue_.TakeReports()) {
      auto* run = std::get_if<jobs::RunReport>(&report);
      if (run != nullptr) last = *run;
    }
    return last;
  }

  debugger::Metadata client_;
  Dialogue dialogue_{[] { return int64_t{1}; }};
};

TEST_F(DialogueTest, APauseTakesBackARunThatWasNotFetched) {
  Begin("1.2.0", "Ascend");
  Order(ControlVerb::kContinue);
  Order(ControlVerb::kPause);
  EXPECT_EQ(NextRun(), "");
  const jobs::RunReport stands = Stands();
  EXPECT_TRUE(stands.paused);
  EXPECT_EQ(stands.reason, model::PauseReason::kUser);
  EXPECT_EQ(stands.step, 0u);
}

TEST_F(DialogueTest, RunsOnlyWhenTheSessionKnowsItsWatchpoints) {
  Begin("1.2.0", "Ascend");
  dialogue_.set_attached(false);
  Order(ControlVerb::kContinue);
  EXPECT_EQ(NextRun(), "");
  dialogue_.set_attached(true);
  EXPECT_EQ(NextRun(), "step");
}

// The answer was lost with its connection: the client stands where it stood.
TEST_F(DialogueTest, ARunThatNeverArrivedIsSaidAgain) {
  Begin("1.2.0", "Ascend");
  Order(ControlVerb::kStep, 2);
  EXPECT_EQ(NextRun(), "step");
  AskAt(1);
  EXPECT_EQ(NextRun(), "step");
  dialogue_.Gone();
  dialogue_.Rejoined();
  AskAt(1);
  EXPECT_EQ(NextRun(), "step");
  AskAt(2);
  EXPECT_EQ(NextRun(), "");
  EXPECT_EQ(Stands().step, 2u);
}

TEST_F(DialogueTest, AStepThatEndedWhileTheClientWasLostCounts) {
  Begin("1.2.0", "Ascend");
  Order(ControlVerb::kStep, 2);
  EXPECT_EQ(NextRun(), "step");
  AskAt(1);
  EXPECT_EQ(NextRun(), "step");
  dialogue_.Gone();
  dialogue_.Rejoined();
  AskAt(2);
  EXPECT_EQ(NextRun(), "");
  EXPECT_EQ(Stands().step, 2u);
}

// What is kept is the same after a step of a run, so that it need not be
// written at each.
TEST_F(DialogueTest, WhatIsKeptDoesNotChangeFromStepToStep) {
  Begin("1.2.0", "Ascend");
  Order(ControlVerb::kContinue);
  EXPECT_EQ(NextRun(), "step");
  AskAt(1);
  EXPECT_EQ(NextRun(), "step");
  const std::string kept = dialogue_.Save().SerializeAsString();
  AskAt(2);
  EXPECT_EQ(NextRun(), "step");
  EXPECT_EQ(dialogue_.Save().SerializeAsString(), kept);
}

TEST_F(DialogueTest, ItIsSaidOnceThatAStepHadMoreHitsThanAreKept) {
  Begin("1.3.0", "Ascend");
  for (size_t i = 0; i < Dialogue::kMaxHits + 2; ++i) {
    dialogue_.Hit(debugger::WatchpointHit());
  }
  int told = 0;
  for (const jobs::AgentReport& report : dialogue_.TakeReports()) {
    const auto* log = std::get_if<jobs::LogReport>(&report);
    told += log != nullptr && log->level == "warning";
  }
  EXPECT_EQ(told, 1);
}

TEST_F(DialogueTest, ReleasedItRunsOnByItself) {
  Begin("2.2.0", "GPU");
  dialogue_.set_attached(false);
  dialogue_.Release();
  for (int step = 1; step <= 3; ++step) {
    EXPECT_EQ(NextRun(), "step");
    AskAt(step, kOp);
  }
  EXPECT_TRUE(dialogue_.TakeReports().empty());
}

}  // namespace
}  // namespace graphdbg::mindspore
