// The whole agent, without network and C interface.
#include <cmath>
#include <future>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/testing/agent_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using ::testing::HasSubstr;

const float kNan = std::nanf("");
constexpr float kInf = std::numeric_limits<float>::infinity();

class AgentTest : public AgentFixture {};

TEST_F(AgentTest, UnwatchedNodesAreOfInterestOnceToLearnThem) {
  Run();
  const uint32_t node = Declare("a");
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  const std::vector<float> values = {1};
  EXPECT_EQ(host_.level(), GRAPHDBG_LEVEL_OPS);
  EXPECT_TRUE(Execute(node, values));
  EXPECT_FALSE(Execute(node, values));
  EXPECT_EQ(host_.retained(), 0);
  agent_->StepEnd();
  EXPECT_EQ(host_.level(), GRAPHDBG_LEVEL_STEPS);
}

TEST_F(AgentTest, TheLevelFollowsWatchpoints) {
  Run();
  agent_->Start();
  agent_->StepEnd();
  EXPECT_EQ(host_.level(), GRAPHDBG_LEVEL_STEPS);
  EXPECT_EQ(server_->Watch(1, "nan").error().message(), "");
  EXPECT_EQ(host_.level(), GRAPHDBG_LEVEL_OPS);
  v1::ServerMessage remove;
  remove.mutable_remove_watchpoint()->set_id(1);
  server_->Send(remove);
  EXPECT_EQ(host_.level(), GRAPHDBG_LEVEL_STEPS);
}

TEST_F(AgentTest, OnlyWatchedNodesAreReportedWhenNothingStops) {
  Run();
  const uint32_t a = Declare("a");
  const uint32_t b = Declare("b");
  agent_->Start();
  const std::vector<float> values = {1}, bad = {kNan};
  Execute(a, values);
  Execute(b, values);
  agent_->StepEnd();
  server_->Watch(1, "nan", "b");
  EXPECT_FALSE(Execute(a, values));
  EXPECT_TRUE(Execute(b, bad));
  const v1::Hit hit = server_->WaitForHit();
  EXPECT_EQ(hit.node_id(), b);
  EXPECT_EQ(hit.step(), 2u);
  // The execution that was not followed counts.
  EXPECT_EQ(hit.order(), 2u);
  agent_->StepEnd();
  EXPECT_EQ(host_.retained(), 0);
}

// Ops that run as one, like a loop, are not split up merely because the program
// may stop elsewhere.
TEST_F(AgentTest, NodesThatSomebodyLooksAtAreToldFromTheOthers) {
  Run();
  const uint32_t a = Declare("a");
  const uint32_t b = Declare("b");
  EXPECT_EQ(agent_->Interest(a), GRAPHDBG_INTEREST_OPTIONAL);
  agent_->Start();
  const std::vector<float> values = {1};
  Execute(a, values);
  Execute(b, values);
  agent_->StepEnd();
  EXPECT_EQ(agent_->Interest(a), GRAPHDBG_INTEREST_NONE);
  server_->Watch(1, "nan", "b", v1::PAUSE_MODE_NODE);
  EXPECT_EQ(agent_->Interest(a), GRAPHDBG_INTEREST_OPTIONAL);
  EXPECT_EQ(agent_->Interest(b), GRAPHDBG_INTEREST_REQUIRED);
  const std::vector<float> bad = {kNan};
  auto stopped = Stop([&] { Execute(b, bad); });
  v1::Command command;
  command.mutable_step()->set_steps(1);
  server_->Command(command);
  stopped.get();
  // The user may want to see any value of this step.
  EXPECT_EQ(agent_->Interest(a), GRAPHDBG_INTEREST_REQUIRED);
}

TEST_F(AgentTest, WatchpointsThatWereThereBeforeHoldFromTheFirstStep) {
  Run(/*watchpoints=*/1);
  const uint32_t node = Declare("a");
  auto trained = std::async(std::launch::async, [&] {
    EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
    const std::vector<float> bad = {kNan};
    EXPECT_TRUE(Execute(node, bad));
  });
  // The program waits although it is configured not to wait for the user.
  for (int i = 0; host_.waits() == 0; ++i) {
    ASSERT_LT(i, 3000) << "the program did not wait";
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  server_->Watch(1, "nan");
  EXPECT_EQ(server_->WaitForHit().step(), 1u);
  trained.get();
}

TEST_F(AgentTest, AllOfAStepIsKeptUntilItEnds) {
  Run();
  const uint32_t a = Declare("a");
  const uint32_t b = Declare("b");
  agent_->Start();
  server_->Watch(1, "nan", "b", v1::PAUSE_MODE_NODE);
  const std::vector<float> first = {1, 2, 3}, bad = {kNan};
  Execute(a, first);
  auto stopped = Stop([&] { Execute(b, bad); });
  EXPECT_EQ(server_->Tensor("a").data().size(), 12u);
  EXPECT_EQ(server_->Tensor("b").data().size(), 4u);
  Resume(&stopped);
  agent_->StepEnd();
  const v1::TensorData gone = server_->Tensor("a");
  EXPECT_EQ(gone.error().reason(), "value_gone");
  EXPECT_THAT(gone.error().message(), HasSubstr("run one more step"));
  // Not earlier, because the agent's thread releases the value after it has
  // answered the last request.
  EXPECT_EQ(host_.retained(), 0);
}

TEST_F(AgentTest, PartialMemoryKeepsWhatIsWatchedOnly) {
  config_.partial_memory = true;
  Run();
  const uint32_t a = Declare("a");
  const uint32_t b = Declare("b");
  agent_->Start();
  server_->Watch(1, "nan", "b", v1::PAUSE_MODE_NODE);
  const std::vector<float> first = {1, 2, 3}, bad = {kNan};
  EXPECT_TRUE(Execute(a, first));
  EXPECT_FALSE(Execute(a, first));
  auto stopped = Stop([&] { Execute(b, bad); });
  EXPECT_EQ(server_->Tensor("a").error().reason(), "value_gone");
  EXPECT_EQ(server_->Tensor("b").data().size(), 4u);
  Resume(&stopped);
}

TEST_F(AgentTest, AValueThatWasOverwrittenIsShownAsSuch) {
  Run();
  const uint32_t a = Declare("a");
  const uint32_t relu = Declare("relu_");
  agent_->Start();
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_NODE);
  const std::vector<float> values = {1};
  Execute(a, values, 0, 77);
  auto stopped = Stop([&] {
    const std::vector<float> bad = {kNan};
    Execute(relu, bad, GRAPHDBG_IN_PLACE, 77);
  });
  EXPECT_TRUE(server_->Tensor("a").header().overwritten());
  EXPECT_FALSE(server_->Tensor("relu_").header().overwritten());
  Resume(&stopped);
}

TEST_F(AgentTest, ABadParameterStopsAtTheEndOfItsStep) {
  Run();
  std::vector<float> weight = {1, 2};
  const uint32_t node = Declare("weight", GRAPHDBG_PARAMETER);
  host_.SetBound(this, &weight);
  EXPECT_TRUE(agent_->BindTensor(node, this).ok());
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_NODE);
  agent_->Start();
  agent_->StepEnd();
  weight[1] = kNan;
  auto ended = std::async(std::launch::async, [&] { agent_->StepEnd(); });
  const v1::Hit hit = server_->WaitForHit();
  EXPECT_EQ(hit.node_id(), node);
  EXPECT_EQ(hit.step(), 2u);
  const v1::StateUpdate pause = server_->WaitForPause();
  EXPECT_EQ(pause.reason(), v1::PAUSE_REASON_WATCHPOINT);
  EXPECT_TRUE(pause.step_ended());
  EXPECT_EQ(server_->Tensor("weight").data().size(), 8u);
  Resume(&ended);
  // While the program runs, its parameters may be written at any time.
  EXPECT_EQ(server_->Tensor("weight").error().reason(), "value_gone");
}

TEST_F(AgentTest, AMaskThatWasMadeWithInfinitiesIsNoHit) {
  Run();
  std::vector<float> mask = {0, -kInf};
  const uint32_t node = Declare("mask", GRAPHDBG_BUFFER);
  host_.SetBound(this, &mask);
  EXPECT_TRUE(agent_->BindTensor(node, this).ok());
  server_->Watch(1, "overflow", "", v1::PAUSE_MODE_NODE);
  // Neither stops the program.
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
}

TEST_F(AgentTest, HitsOfPauseAtStepStopAtItsEnd) {
  Run();
  const uint32_t a = Declare("a");
  agent_->Start();
  server_->Watch(3, "nan", "", v1::PAUSE_MODE_STEP);
  const std::vector<float> bad = {kNan};
  EXPECT_TRUE(Execute(a, bad));
  auto ended = std::async(std::launch::async, [&] { agent_->StepEnd(); });
  const v1::StateUpdate pause = server_->WaitForPause();
  EXPECT_THAT(pause.watchpoints(), testing::ElementsAre(3));
  EXPECT_EQ(pause.step(), 1u);
  Resume(&ended);
  EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
}

TEST_F(AgentTest, HitsOfALostConnectionComeWithTheNext) {
  Run();
  const uint32_t a = Declare("a");
  agent_->Start();
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_NODE);
  server_->Disconnect();
  const std::vector<float> bad = {kNan};
  // The program does not stop, because nobody could continue it.
  EXPECT_TRUE(Execute(a, bad));
  server_->Connect();
  // The node is sent before its hit.
  const v1::AgentMessage graph = server_->WaitFor(
      [](const v1::AgentMessage& m) { return m.has_graph() || m.has_hit(); });
  ASSERT_TRUE(graph.has_graph());
  EXPECT_EQ(graph.graph().nodes(0).name(), "a");
  EXPECT_EQ(server_->WaitForHit().node_id(), a);
}

TEST_F(AgentTest, LargeAnswersComeInPieces) {
  Run();
  const uint32_t a = Declare("a");
  agent_->Start();
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_NODE);
  std::vector<float> values(700'000, 1);
  values.back() = kNan;
  auto stopped = Stop([&] { Execute(a, values); });
  const v1::TensorData data = server_->Tensor("a");
  EXPECT_EQ(data.header().total_bytes(), 2'800'000u);
  ASSERT_EQ(data.data().size(), 2'800'000u);
  EXPECT_EQ(data.data(),
            std::string(reinterpret_cast<const char*>(values.data()),
                        values.size() * 4));
  Resume(&stopped);
}

TEST_F(AgentTest, RefusedWatchpointsSayWhy) {
  Run();
  const v1::WatchpointStatus status = server_->Watch(1, "bogus");
  EXPECT_EQ(status.error().reason(), "unknown_condition");
  EXPECT_THAT(status.error().message(), HasSubstr("bogus"));
}

TEST_F(AgentTest, MessagesThatBreakTheRulesAreIgnoredWithALine) {
  Run();
  server_->Send(v1::ServerMessage());
  const v1::AgentMessage log =
      server_->WaitFor([](const v1::AgentMessage& m) { return m.has_log(); });
  EXPECT_THAT(log.log().message(), HasSubstr("ignored an invalid message"));
}

TEST_F(AgentTest, ThreadsMayExecuteAtOnce) {
  Run();
  std::vector<uint32_t> nodes;
  for (int i = 0; i < 4; ++i) nodes.push_back(Declare(std::to_string(i)));
  agent_->Start();
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_NODE);
  std::vector<std::future<void>> threads;
  const std::vector<float> values(1000, 1);
  for (uint32_t node : nodes) {
    threads.push_back(std::async(std::launch::async, [&, node] {
      for (int i = 0; i < 200; ++i) Execute(node, values);
    }));
  }
  for (auto& thread : threads) thread.get();
  const std::vector<float> bad = {kNan};
  auto stopped = Stop([&] { Execute(nodes[0], bad); });
  Resume(&stopped);
  agent_->StepEnd();
  EXPECT_EQ(host_.retained(), 0);
}

TEST_F(AgentTest, AnInfinityThatNothingReadsStopsAtTheEndOfTheStep) {
  Run();
  const uint32_t log = Declare("log");
  agent_->Start();
  agent_->StepEnd();
  server_->Watch(1, "inf", "log", v1::PAUSE_MODE_NODE);
  const std::vector<float> bad = {kInf, 1};
  EXPECT_TRUE(Execute(log, bad));
  auto ended = std::async(std::launch::async, [&] { agent_->StepEnd(); });
  const v1::Hit hit = server_->WaitForHit();
  EXPECT_EQ(hit.node_id(), log);
  EXPECT_EQ(hit.step(), 2u);
  EXPECT_FALSE(hit.absorbed());
  EXPECT_THAT(server_->WaitForPause().watchpoints(), testing::ElementsAre(1));
  Resume(&ended);
}

TEST_F(AgentTest, OpsThatNobodyWatchesAreFollowedWhileAnInfinityWaits) {
  Run();
  const uint32_t log = Declare("log");
  const uint32_t where = Declare("where");
  const std::vector<float> good = {1, 2}, bad = {kInf, 1};
  agent_->Start();
  for (const uint32_t node : {log, where}) Execute(node, good);
  agent_->StepEnd();
  server_->Watch(1, "inf", "log", v1::PAUSE_MODE_NONE);
  EXPECT_FALSE(Execute(where, good));
  EXPECT_TRUE(Execute(log, bad, 0, /*storage=*/7));
  const int64_t shape[] = {2};
  EXPECT_TRUE(Execute(where, good, 0, /*storage=*/8,
                      {{log, 0, TensorOf(bad, shape, 7)}}));
  agent_->StepEnd();
  EXPECT_TRUE(server_->WaitForHit().absorbed());
  EXPECT_FALSE(Execute(where, good));
}

TEST_F(AgentTest, AnInfinityThatWaitsIsReportedWhenTheProgramEnds) {
  Run();
  const uint32_t log = Declare("log");
  agent_->Start();
  server_->Watch(1, "inf", "log", v1::PAUSE_MODE_NODE);
  const std::vector<float> bad = {kInf, 1};
  EXPECT_TRUE(Execute(log, bad));
  agent_->Close({});
  EXPECT_EQ(server_->WaitForHit().node_id(), log);
}

TEST_F(AgentTest, TheEndReportsWhatAShortProgramHasReached) {
  Run();
  agent_->Start();
  for (int step = 0; step < 40; ++step) agent_->StepEnd();
  agent_->Close({});
  const v1::AgentMessage last =
      server_->WaitFor([](const v1::AgentMessage& message) {
        return message.has_state() && message.state().step() == 40;
      });
  EXPECT_TRUE(last.state().has_overhead());
}

TEST_F(AgentTest, WhatIsLeftOfTheGraphIsOfferedAndSentWhenTheProgramEnds) {
  Run();
  agent_->Start();
  Declare("log_" + std::string(2'000, 'x'));
  agent_->Close({});
  server_->WaitFor([](const v1::AgentMessage& message) {
    return message.has_graph() && message.graph().nodes_size() == 1;
  });
  server_->WaitFor(
      [](const v1::AgentMessage& message) { return message.has_goodbye(); });
}

}  // namespace
}  // namespace graphdbg::agent
