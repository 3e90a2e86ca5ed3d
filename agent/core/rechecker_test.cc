#include "agent/core/rechecker.h"

#include <cmath>
#include <deque>
#include <future>
#include <limits>
#include <string>
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

// Watchpoints are set after the program has stopped.
class RecheckerTest : public AgentFixture {
 protected:
  RecheckerTest() { config_.wait = true; }

  struct Outcome {
    v1::CommandResult result;
    std::vector<v1::Hit> hits;
    std::string line;
  };

  Outcome Recheck(const std::vector<uint32_t>& watchpoints) {
    v1::Command command;
    *command.mutable_recheck()->mutable_watchpoints() = {watchpoints.begin(),
                                                         watchpoints.end()};
    const uint64_t id = server_->Command(command);
    Outcome outcome;
    server_->WaitFor([&](const v1::AgentMessage& message) {
      if (message.has_hit()) outcome.hits.push_back(message.hit());
      if (message.has_log()) outcome.line = message.log().message();
      outcome.result = message.command_result();
      return message.command_result().command_id() == id;
    });
    return outcome;
  }

  // The output of `node` as an input of another node.
  graphdbg_input From(uint32_t node, const std::vector<float>& values) {
    shapes_.push_back({static_cast<int64_t>(values.size())});
    return {node, 0, TensorOf(values, shapes_.back().data())};
  }

  std::deque<std::vector<int64_t>> shapes_;
};

TEST_F(RecheckerTest, TestsTheValuesOfThisStopWithoutRunning) {
  Run();
  const uint32_t a = Declare("a");
  const uint32_t b = Declare("b");
  const std::vector<float> good = {1}, bad = {kNan};
  auto trained = StepTo(1, [&] {
    Execute(a, bad);
    Execute(b, bad, 0, 0, {From(a, bad)});
  });
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_NODE);
  const Outcome outcome = Recheck({1});
  EXPECT_FALSE(outcome.result.has_error());
  ASSERT_EQ(outcome.hits.size(), 2u);
  EXPECT_EQ(outcome.hits[0].node_id(), a);
  EXPECT_EQ(outcome.hits[0].step(), 1u);
  EXPECT_EQ(outcome.hits[0].order(), 1u);
  EXPECT_EQ(outcome.hits[0].origin(), v1::HIT_ORIGIN_ORIGIN);
  EXPECT_EQ(outcome.hits[1].node_id(), b);
  EXPECT_EQ(outcome.hits[1].origin(), v1::HIT_ORIGIN_PROPAGATED);
  EXPECT_EQ(outcome.line, "recheck: 2 tensors checked, 2 hits");
  // The program is still at the same point.
  EXPECT_EQ(server_->Tensor("a").data().size(), 4u);
  Resume(&trained);
}

TEST_F(RecheckerTest, TestsTheWatchpointsThatAreNamed) {
  Run();
  const uint32_t a = Declare("a");
  const std::vector<float> bad = {kNan};
  auto trained = StepTo(1, [&] { Execute(a, bad); });
  server_->Watch(1, "nan");
  server_->Watch(2, "nan");
  const Outcome outcome = Recheck({2, 77});
  ASSERT_EQ(outcome.hits.size(), 1u);
  EXPECT_EQ(outcome.hits[0].watchpoint(), 2u);
  EXPECT_TRUE(Recheck({}).hits.empty());
  Resume(&trained);
}

TEST_F(RecheckerTest, SkipsWhatWasOverwrittenAndSaysSo) {
  Run();
  const uint32_t a = Declare("a");
  const uint32_t relu = Declare("relu_");
  const std::vector<float> values = {kNan};
  auto trained = StepTo(1, [&] {
    Execute(a, values, 0, 77);
    Execute(relu, values, GRAPHDBG_IN_PLACE, 77);
  });
  server_->Watch(1, "nan");
  const Outcome outcome = Recheck({1});
  ASSERT_EQ(outcome.hits.size(), 1u);
  EXPECT_EQ(outcome.hits[0].node_id(), relu);
  EXPECT_THAT(outcome.line,
              HasSubstr("1 tensor skipped because the program overwrote it"));
  Resume(&trained);
}

TEST_F(RecheckerTest, SaysWhatIsNotKept) {
  config_.partial_memory = true;
  Run();
  const uint32_t a = Declare("a");
  const std::vector<float> bad = {kNan};
  auto trained = StepTo(1, [&] { Execute(a, bad); });
  server_->Watch(1, "nan");
  const Outcome outcome = Recheck({1});
  EXPECT_TRUE(outcome.hits.empty());
  EXPECT_THAT(outcome.line, HasSubstr("values of 1 node are no longer kept"));
  Resume(&trained);
}

TEST_F(RecheckerTest, TestsParametersBeforeTheFirstStep) {
  Run();
  std::vector<float> weight = {1, kNan};
  const uint32_t node = Declare("weight", GRAPHDBG_PARAMETER);
  host_.SetBound(this, &weight);
  EXPECT_TRUE(agent_->BindTensor(node, this).ok());
  auto started = Stop([&] { EXPECT_EQ(agent_->Start(), GRAPHDBG_OK); });
  server_->Watch(1, "nan");
  const Outcome outcome = Recheck({1});
  ASSERT_EQ(outcome.hits.size(), 1u);
  EXPECT_EQ(outcome.hits[0].node_id(), node);
  EXPECT_EQ(outcome.hits[0].step(), 0u);
  Resume(&started);
}

TEST_F(RecheckerTest, KnowsWhatWasMeantAndWhatIsNoValueYet) {
  Run();
  const uint32_t empty = Declare("empty");
  const uint32_t mask = Declare("masked_fill");
  const uint32_t add = Declare("add");
  const std::vector<float> garbage = {kNan}, infinite = {0, -kInf};
  auto trained = StepTo(1, [&] {
    Execute(empty, garbage, GRAPHDBG_UNINITIALIZED);
    Execute(mask, infinite, GRAPHDBG_EXPLICIT_NONFINITE);
    Execute(add, infinite, 0, 0, {From(mask, infinite)});
  });
  server_->Watch(1, "overflow");
  EXPECT_TRUE(Recheck({1}).hits.empty());
  Resume(&trained);
}

TEST_F(RecheckerTest, NeedsAProgramThatIsPaused) {
  config_.wait = false;
  Run();
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  EXPECT_EQ(Recheck({1}).result.error().reason(), "invalid_state");
}

}  // namespace
}  // namespace graphdbg::agent
