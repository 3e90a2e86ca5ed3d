// The recorder within an agent that has no server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "agent/testing/recorder_fixture.h"

namespace graphdbg::agent {
namespace {

using RecorderTest = RecorderFixture;
using Nodes = std::vector<uint32_t>;

TEST_F(RecorderTest, RecordsWhatACollectionSelects) {
  Open(R"({"collections": [{"name": "x", "include": ["relu"]}]})");
  const uint32_t relu = Op("forward/relu");
  const uint32_t other = Op("forward/conv");
  EXPECT_TRUE(Execute(relu, {1, -2, 0, NAN}));
  Execute(other, {1});
  EndStep();
  ASSERT_EQ(recorded_.values.size(), 1u);
  const Recorded::Value& value = recorded_.values[0];
  EXPECT_EQ(value.key.node, relu);
  EXPECT_EQ(value.key.step, 1u);
  EXPECT_EQ(value.key.mode, runs::Mode::kTrain);
  EXPECT_EQ(value.key.pass, 1u);
  EXPECT_EQ(value.key.dtype, GRAPHDBG_FLOAT32);
  EXPECT_EQ(value.statistics.count, 4u);
  EXPECT_EQ(value.statistics.nan_count, 1u);
  EXPECT_EQ(value.statistics.min, -2);
  EXPECT_TRUE(Execute(relu, {1}));
  EXPECT_FALSE(Execute(other, {1}));
}

TEST_F(RecorderTest, MarksSteps) {
  Open(R"({"collections": [{"name": "all"}], "save": {"every": 2}})");
  const uint32_t op = Op("op");
  for (int step = 1; step <= 2; ++step) {
    Execute(op, {1});
    EndStep();
  }
  ASSERT_EQ(recorded_.marks.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const Recorded::Mark& mark = recorded_.marks[i];
    EXPECT_EQ(mark.begins, i % 2 == 0);
    EXPECT_EQ(mark.key.step, 1 + i / 2);
    EXPECT_EQ(mark.key.pass, 0u);
    EXPECT_EQ(mark.mark.mode_step, 1 + i / 2);
    EXPECT_GT(mark.mark.unix_ns, 0u);
  }
  EXPECT_EQ(recorded_.marks[1].mark.reason, runs::EndReason::kNotDue);
  EXPECT_EQ(recorded_.marks[1].mark.records, 0u);
  EXPECT_EQ(recorded_.marks[3].mark.reason, runs::EndReason::kNone);
  EXPECT_EQ(recorded_.marks[3].mark.records, 1u);
}

TEST_F(RecorderTest, NamesAnOpThatBeginsForTheFirstTime) {
  Open();
  const uint32_t op = Op("forward/op");
  for (int step = 0; step < 2; ++step) {
    agent_->BeginOp(op);
    Execute(op, {1});
    agent_->EndOp();
    EndStep();
  }
  ASSERT_EQ(recorded_.begun.size(), 2u);
  EXPECT_EQ(recorded_.begun[0].node, op);
  EXPECT_EQ(recorded_.begun[0].step, 1u);
  EXPECT_EQ(recorded_.begun[0].exec_order, 1u);
  EXPECT_EQ(recorded_.begun[0].name, "forward/op");
  EXPECT_EQ(recorded_.begun[1].name, "");
  EXPECT_EQ(recorded_.ended_ops, 2);
  agent_->BeginOp(4'000'000);
  EXPECT_EQ(recorded_.begun.size(), 2u);
}

TEST_F(RecorderTest, RecordsHowLongTheOpsOfOneStepTook) {
  Open();
  const uint32_t op = Op("forward/op");
  for (int step = 0; step < 3; ++step) {
    agent_->BeginOp(op);
    Execute(op, {1});
    agent_->EndOp();
    EndStep();
  }
  // Not the first one, and then none for some time.
  ASSERT_EQ(recorded_.op_times.size(), 1u);
  const v1::OverviewStep& times = recorded_.op_times[0];
  EXPECT_EQ(times.step(), 2u);
  EXPECT_THAT(times.ops().node_ids(), ::testing::ElementsAre(op));
  EXPECT_LE(times.ops().start_ns(0) + times.ops().duration_ns(0),
            times.duration_ns());
}

TEST_F(RecorderTest, UnscalesGradients) {
  Open(R"({"collections": [{"name": "all"}]})");
  Options options;
  options.grad_scale = 4;
  Execute(Op("backward/mm", GRAPHDBG_GRADIENT), {8, 8}, options);
  ASSERT_EQ(recorded_.values.size(), 1u);
  EXPECT_EQ(recorded_.values[0].statistics.mean, 2);
  EXPECT_EQ(recorded_.values[0].grad_scale, 4);
}

TEST_F(RecorderTest, FindsWhatIsPredefined) {
  Open(R"({"collections": [{"name": "losses"}, {"name": "gradients"},
                           {"name": "layers"}]})");
  agent_->DeclareScope("", "forward", "Net").IgnoreError();
  agent_->DeclareScope("", "forward/fc", "Linear").IgnoreError();
  const uint32_t weight =
      Declare("forward/fc/weight", GRAPHDBG_PARAMETER, GRAPHDBG_WEIGHT);
  const uint32_t transposed = Op("forward/fc/t");
  const uint32_t result = Op("forward/fc/mm");
  const uint32_t loss = Op("forward/mean");
  const uint32_t seed = Op("forward/ones_like");
  const uint32_t back = Op("backward/mean", GRAPHDBG_GRADIENT, loss);
  const uint32_t accumulated = Op("backward/fc/t", GRAPHDBG_GRADIENT, weight);
  for (int step = 1; step <= 2; ++step) {
    Execute(transposed, {1}, {{weight}});
    Execute(result, {1}, {{transposed}});
    Execute(loss, {1}, {{result}});
    Execute(seed, {1}, {{loss}});
    Execute(back, {1}, {{seed}});
    Execute(accumulated, {1}, {{back}});
    EndStep();
  }
  // The first step, whose graph is only known at its end, is complete, too.
  EXPECT_EQ(NodesOf(1), (Nodes{result, loss, accumulated}));
  EXPECT_EQ(NodesOf(2), (Nodes{result, loss, accumulated}));
  std::string lines;
  for (const std::string& line : recorded_.lines) lines += line;
  EXPECT_TRUE(
      absl::StrContains(lines, R"({"collection":"losses","tensors":[[)" +
                                   std::to_string(loss) + ",0]]}"));
}

TEST_F(RecorderTest, KnowsLossesThatAreDeclaredAsSuch) {
  Open(R"({"collections": [{"name": "losses"}]})");
  graphdbg_node_info info = {};
  info.struct_size = sizeof(info);
  info.name = "forward/mean";
  info.kind = GRAPHDBG_OP;
  info.category = GRAPHDBG_ACTIVATION;
  info.flags = GRAPHDBG_NODE_LOSS;
  const uint32_t loss = *agent_->DeclareNode(info);
  const uint32_t other = Op("forward/relu");
  const uint32_t back = Op("backward/relu", GRAPHDBG_GRADIENT, other);
  Execute(other, {1});
  Execute(loss, {2}, {{other}});
  // An executor that runs ops in parallel may begin with any gradient.
  Execute(back, {1}, {{other}});
  EndStep();
  EXPECT_EQ(NodesOf(1), (Nodes{loss}));
}

TEST_F(RecorderTest, RecordsParametersAtTheEndOfAStep) {
  Open(R"({"collections": [{"name": "weights"}, {"name": "biases"}]})");
  const uint32_t weight =
      Declare("forward/fc/weight", GRAPHDBG_PARAMETER, GRAPHDBG_WEIGHT);
  const uint32_t input = Declare("forward/x", GRAPHDBG_INPUT, GRAPHDBG_OTHER);
  std::vector<float> values = {1, 2};
  host_.SetBound(&values, &values);
  ASSERT_TRUE(agent_->BindTensor(weight, &values).ok());
  ASSERT_TRUE(agent_->BindTensor(input, &values).ok());
  EndStep();
  values = {3, 5};
  EndStep();
  ASSERT_EQ(recorded_.values.size(), 2u);
  EXPECT_EQ(recorded_.values[0].key.node, weight);
  EXPECT_EQ(recorded_.values[0].statistics.mean, 1.5);
  EXPECT_EQ(recorded_.values[1].key.step, 2u);
  EXPECT_EQ(recorded_.values[1].statistics.mean, 4);
}

TEST_F(RecorderTest, TellsEvaluationFromTraining) {
  Open(R"({"collections": [{"name": "all"}]})");
  const uint32_t op = Op("forward/op");
  agent_->BeginPass(GRAPHDBG_EVAL, /*within_step=*/true);
  Execute(op, {1});
  agent_->BeginPass(GRAPHDBG_EVAL, /*within_step=*/true);
  Execute(op, {2});
  agent_->BeginPass(GRAPHDBG_TRAIN, /*within_step=*/false);
  Execute(op, {3});
  Options second;
  second.micro_step = 2;
  Execute(op, {4}, second);
  EndStep();
  ASSERT_EQ(recorded_.values.size(), 4u);
  const std::vector<std::pair<runs::Mode, uint64_t>> expected = {
      {runs::Mode::kEval, 1},
      {runs::Mode::kEval, 2},
      {runs::Mode::kTrain, 1},
      {runs::Mode::kTrain, 2}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(recorded_.values[i].key.mode, expected[i].first);
    EXPECT_EQ(recorded_.values[i].key.pass, expected[i].second);
    EXPECT_EQ(recorded_.values[i].key.step, 1u);
  }
  // Step, pass 1, pass 2: each begins and ends.
  ASSERT_EQ(recorded_.marks.size(), 6u);
  EXPECT_EQ(recorded_.marks[0].key.mode, runs::Mode::kTrain);
  EXPECT_EQ(recorded_.marks[1].key.mode, runs::Mode::kEval);
  EXPECT_EQ(recorded_.marks[2].mark.records, 1u);
  EXPECT_EQ(recorded_.marks[4].mark.mode_step, 2u);
  EXPECT_EQ(recorded_.marks[5].key.mode, runs::Mode::kTrain);
  EXPECT_EQ(recorded_.marks[5].mark.records, 4u);
}

TEST_F(RecorderTest, RecordsEvaluationOnAScheduleOfItsOwn) {
  Open(R"({"collections": [{"name": "all"}],
           "save": {"train": {"every": 100}, "eval": {"every": 2}}})");
  const uint32_t op = Op("forward/op");
  EXPECT_TRUE(Execute(op, {0}));
  EndStep();
  EXPECT_FALSE(Execute(op, {1}));
  agent_->BeginPass(GRAPHDBG_EVAL, true);
  EXPECT_FALSE(Execute(op, {2}));
  agent_->BeginPass(GRAPHDBG_EVAL, true);
  EXPECT_TRUE(Execute(op, {3}));
  agent_->EndPass();
  EXPECT_FALSE(Execute(op, {4}));
  EndStep();
  ASSERT_EQ(recorded_.values.size(), 1u);
  EXPECT_EQ(recorded_.values[0].statistics.mean, 3);
}

TEST_F(RecorderTest, WithoutAnOptimizerStepsHaveTheModeOfTheirModel) {
  Open(R"({"collections": [{"name": "all"}]})");
  const uint32_t op = Op("forward/op");
  for (const graphdbg_mode mode : {GRAPHDBG_PREDICT, GRAPHDBG_TRAIN}) {
    agent_->BeginPass(mode, false);
    Execute(op, {1});
    EndStep();
  }
  ASSERT_EQ(recorded_.values.size(), 2u);
  EXPECT_EQ(recorded_.values[0].key.mode, runs::Mode::kPredict);
  EXPECT_EQ(recorded_.values[1].key.mode, runs::Mode::kTrain);
  EXPECT_EQ(recorded_.marks[2].mark.mode_step, 1u);
}

TEST_F(RecorderTest, ChecksItsOwnWatchpointsAndRecordsEverythingAfterAHit) {
  Open(R"({"collections": [{"name": "weights"}], "watchpoints": ["nan"],
           "record": {"after_hit": 2}})");
  const uint32_t op = Op("forward/op");
  Execute(op, {1});
  EndStep();
  Execute(op, {NAN});
  EndStep();
  ASSERT_EQ(recorded_.hits.size(), 1u);
  EXPECT_EQ(recorded_.hits[0].node_id(), op);
  EXPECT_EQ(recorded_.hits[0].step(), 2u);
  EXPECT_EQ(recorded_.kept_through, 4u);
  for (int step = 3; step <= 5; ++step) {
    Execute(op, {1});
    EndStep();
  }
  EXPECT_EQ(NodesOf(3), Nodes{op});
  EXPECT_EQ(NodesOf(4), Nodes{op});
  EXPECT_EQ(NodesOf(5), Nodes());
}

TEST_F(RecorderTest, OfLevelLightIsAQuickPassIfThatSuffices) {
  Open(R"({"collections": [{"name": "all", "level": "light",
                            "reductions": {"digest": true}}]})");
  const uint32_t op = Op("op");
  Execute(op, {1, 3});
  Execute(op, {INFINITY, 3});
  ASSERT_EQ(recorded_.values.size(), 2u);
  EXPECT_EQ(recorded_.values[0].key.flags, runs::kFlagLight);
  EXPECT_EQ(recorded_.values[0].statistics.max, 3);
  EXPECT_EQ(recorded_.values[0].statistics.count, 2u);
  EXPECT_EQ(recorded_.values[1].statistics.pos_inf_count, 1u);
  ASSERT_EQ(recorded_.changes.size(), 2u);
  EXPECT_NE(recorded_.changes[0].digest, recorded_.changes[1].digest);
}

TEST_F(RecorderTest, CountsWhatIsDropped) {
  Open(R"({"collections": [{"name": "all"}]})");
  const uint32_t op = Op("op");
  recorded_.full = true;
  Execute(op, {1});
  recorded_.full = false;
  Execute(op, {1});
  EndStep();
  ASSERT_EQ(recorded_.marks.size(), 2u);
  EXPECT_EQ(recorded_.marks[1].mark.records_dropped, 1u);
  EXPECT_EQ(recorded_.marks[1].mark.records, 1u);
}

TEST_F(RecorderTest, CountsWhatIsDroppedBetweenTwoSteps) {
  Open(R"({"collections": [{"name": "all"}]})");
  const uint32_t op = Op("op");
  Execute(op, {1});
  EndStep();
  recorded_.dropped_by_writer = 3;
  Execute(op, {1});
  EndStep();
  ASSERT_EQ(recorded_.marks.size(), 4u);
  EXPECT_EQ(recorded_.marks[1].mark.records_dropped, 0u);
  EXPECT_EQ(recorded_.marks[3].mark.records_dropped, 3u);
}

TEST_F(RecorderTest, LeavesOutWhatIsOnlyInACollectionThatIsNotDue) {
  Open(R"({"collections": [{"name": "losses"},
                           {"name": "ops", "include": ["op"],
                            "save": {"start": 100}}]})");
  Execute(Op("op"), {1});
  EndStep();
  EXPECT_TRUE(recorded_.values.empty());
}

TEST_F(RecorderTest, DescribesWhatIsNewAtTheEndOfAStep) {
  Open(R"({"collections": [{"name": "all"}]})");
  const uint32_t op = Op("op");
  std::vector<uint64_t> descriptions;
  for (int step = 1; step <= 5; ++step) {
    Execute(step < 4 ? op : Op("another"), {1});
    EndStep();
    descriptions.push_back(recorded_.descriptions);
  }
  EXPECT_EQ(descriptions[0], 1u);
  EXPECT_EQ(descriptions[2], descriptions[1]);
  EXPECT_EQ(descriptions[3], descriptions[2] + 1);
}

TEST_F(RecorderTest, HasTheWholeGraphAndHowItEnded) {
  Open();
  Op("forward/a");
  Op("forward/b");
  graphdbg_ending ending = {};
  ending.exception_type = "ValueError";
  agent_->Close(ending);
  EXPECT_EQ(recorded_.closed, "exception");
  EXPECT_EQ(recorded_.graph,
            (std::vector<std::string>{"forward/a", "forward/b"}));
}

TEST_F(RecorderTest, ThatCannotBeOpenedDisturbsNothing) {
  Config config;
  config.enabled = true;
  config.serverless = true;
  config.record.directory = "/runs";
  const graphdbg_host callbacks = host_.host();
  agent_ = std::make_unique<Agent>(
      config, Identity{}, Host(&callbacks), std::make_unique<NoTransport>(),
      nullptr,
      [](const RecordingOptions&, const v1::Hello&,
         RecordingCallbacks) -> absl::StatusOr<std::unique_ptr<Recording>> {
        return absl::UnavailableError("no such directory");
      });
  agent_->Open();
  ASSERT_EQ(agent_->Start(), GRAPHDBG_OK);
  const uint32_t op = Op("op");
  Execute(op, {1});
  agent_->BeginPass(GRAPHDBG_EVAL, true);
  EndStep();
  EXPECT_FALSE(Execute(op, {1}));
}

}  // namespace
}  // namespace graphdbg::agent
