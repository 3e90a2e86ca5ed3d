// Values, changes and units that the recorder records, and what the program
// saves by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/testing/recorder_fixture.h"

namespace graphdbg::agent {
namespace {

using Values = std::vector<float>;

class RecorderTensorsTest : public RecorderFixture {
 protected:
  // Saves values, as the program does.
  absl::Status Save(const char* name, const char* collection,
                    const Values& values) {
    const int64_t shape[] = {static_cast<int64_t>(values.size())};
    graphdbg_status status = GRAPHDBG_OK;
    const absl::Status saved =
        agent_->SaveTensor(name, collection, TensorOf(values, shape), &status);
    EXPECT_EQ(status, GRAPHDBG_OK);
    return saved;
  }
  uint32_t Weight(Values* values) {
    const uint32_t weight =
        Declare("forward/fc/weight", GRAPHDBG_PARAMETER, GRAPHDBG_WEIGHT);
    host_.SetBound(values, values);
    EXPECT_TRUE(agent_->BindTensor(weight, values).ok());
    return weight;
  }
};

TEST_F(RecorderTensorsTest, SavesValuesOfCollectionsAtThatLevel) {
  Open(R"({"collections": [{"name": "a", "include": ["relu"]},
                           {"name": "b", "include": ["conv"],
                            "level": "tensors", "save": {"every": 2}}]})");
  const uint32_t relu = Op("forward/relu");
  const uint32_t conv = Op("forward/conv");
  for (float step = 1; step <= 2; ++step) {
    Execute(relu, {step});
    Execute(conv, {step, -step});
    EndStep();
  }
  ASSERT_EQ(recorded_.tensors.size(), 1u);
  EXPECT_EQ(recorded_.tensors[0].key.node, conv);
  EXPECT_EQ(recorded_.tensors[0].key.step, 2u);
  EXPECT_EQ(recorded_.tensors[0].key.dtype, GRAPHDBG_FLOAT32);
  EXPECT_EQ(recorded_.tensors[0].name, "forward/conv");
  EXPECT_EQ(recorded_.tensors[0].values, Values({2, -2}));
  EXPECT_EQ(recorded_.marks.back().mark.tensor_bytes, 8u);
  EXPECT_EQ(recorded_.marks.back().mark.records, 3u);
}

TEST_F(RecorderTensorsTest, SavesParametersAsTheyAreAtTheEndOfAStep) {
  Open(R"({"collections": [{"name": "weights", "level": "tensors"}]})");
  Values values = {1, 2};
  Weight(&values);
  values = {3, 4};
  EndStep();
  ASSERT_EQ(recorded_.tensors.size(), 1u);
  EXPECT_EQ(recorded_.tensors[0].values, Values({3, 4}));
}

TEST_F(RecorderTensorsTest, SavesTheFirstStepOfWhatIsDecidedAtItsEnd) {
  Open(R"({"collections": [{"name": "outputs", "level": "tensors"}]})");
  agent_->DeclareScope("", "forward", "Net").IgnoreError();
  const uint32_t hidden = Op("forward/hidden");
  const uint32_t out = Op("forward/out");
  Options from_hidden;
  from_hidden.from = {hidden};
  for (float step = 1; step <= 2; ++step) {
    Execute(hidden, {step});
    Execute(out, {10 * step}, from_hidden);
    EndStep();
  }
  ASSERT_EQ(recorded_.tensors.size(), 2u);
  EXPECT_EQ(recorded_.tensors[0].key.node, out);
  EXPECT_EQ(recorded_.tensors[0].key.step, 1u);
  EXPECT_EQ(recorded_.tensors[0].values, Values({10}));
  EXPECT_EQ(recorded_.tensors[1].values, Values({20}));
}

TEST_F(RecorderTensorsTest, LeavesRoomToCollectionsThatAreListedBefore) {
  Open(R"({"collections": [
      {"name": "a", "include": ["relu"], "level": "tensors"},
      {"name": "b", "include": ["conv"], "level": "tensors"}]})");
  Execute(Op("forward/relu"), {1});
  Execute(Op("forward/conv"), {1});
  ASSERT_EQ(recorded_.tensors.size(), 2u);
  EXPECT_EQ(recorded_.tensors[0].share, 1);
  EXPECT_LT(recorded_.tensors[1].share, 1);
}

TEST_F(RecorderTensorsTest, CountsWhatIsDropped) {
  Open(R"({"collections": [{"name": "all", "level": "tensors"}]})");
  recorded_.full = true;
  Execute(Op("op"), {1});
  EndStep();
  EXPECT_EQ(recorded_.marks.back().mark.tensors_dropped, 1u);
}

TEST_F(RecorderTensorsTest, AfterAHitTheValuesOfEverythingAreSaved) {
  Open(R"({"record": {"after_hit": 1}, "collections": [{"name": "losses"}],
           "watchpoints": ["nan"]})");
  const uint32_t op = Op("op");
  Execute(op, {NAN});
  EndStep();
  EXPECT_TRUE(recorded_.tensors.empty());
  for (int step = 2; step <= 4; ++step) {
    Execute(op, {1});
    EndStep();
  }
  ASSERT_EQ(recorded_.tensors.size(), 1u);
  EXPECT_EQ(recorded_.tensors[0].key.step, 2u);
}

TEST_F(RecorderTensorsTest, AfterAHitThereAreNoValuesIfSoConfigured) {
  Open(R"({"record": {"after_hit": 1, "hit_tensors": false},
           "collections": [{"name": "losses"}], "watchpoints": ["nan"]})");
  const uint32_t op = Op("op");
  Execute(op, {NAN});
  EndStep();
  Execute(op, {1});
  EndStep();
  EXPECT_TRUE(recorded_.tensors.empty());
  EXPECT_FALSE(recorded_.values.empty());
}

TEST_F(RecorderTensorsTest, ComparesParametersWithTheirLastRecordedValues) {
  Open(R"({"collections": [{"name": "weights", "save": {"every": 2},
                            "reductions": {"change": true}}]})");
  Values values = {0, 0};
  Weight(&values);
  for (float step = 1; step <= 4; ++step) {
    values = {step, 1};
    EndStep();
  }
  // Steps 2 and 4 were recorded.
  ASSERT_EQ(recorded_.changes.size(), 1u);
  const RecordedChange& change = recorded_.changes[0];
  EXPECT_EQ(change.previous_step, 2u);
  EXPECT_EQ(change.changed_count, 1u);
  EXPECT_EQ(change.pair.finite_count, 2u);
  EXPECT_EQ(change.pair.change_abs_max, 2);
  EXPECT_EQ(change.pair.change_abs_mean, 1);
  EXPECT_EQ(change.digest, 0u);
}

TEST_F(RecorderTensorsTest, ComparesOutputsOfCollectionsThatAskForIt) {
  Open(R"({"collections": [
      {"name": "x", "include": ["op"], "reductions": {"change": true}},
      {"name": "all"}]})");
  const uint32_t op = Op("op");
  const uint32_t other = Op("other_one");
  for (float step = 1; step <= 3; ++step) {
    Execute(op, {1, step});
    Execute(other, {step});
    // If an op is executed several times in a step, the first execution is
    // compared.
    Execute(op, {50, 50});
    EndStep();
  }
  ASSERT_EQ(recorded_.changes.size(), 2u);
  for (const RecordedChange& change : recorded_.changes) {
    EXPECT_EQ(change.changed_count, 1u);
    EXPECT_EQ(change.pair.change_abs_max, 1);
  }
  EXPECT_EQ(recorded_.changes[1].previous_step, 2u);
}

TEST_F(RecorderTensorsTest, DigestsAreThoseOfTheElementsInOrder) {
  Open(R"({"collections": [{"name": "a", "reductions": {"digest": true}}]})");
  const int64_t shape[] = {2, 3};
  const int64_t transposed[] = {1, 2};
  const Values by_row = {1, 2, 3, 4, 5, 6};
  const Values by_column = {1, 4, 2, 5, 3, 6};
  graphdbg_status status = GRAPHDBG_OK;
  for (const Values* values : {&by_row, &by_column}) {
    graphdbg_tensor tensor = TensorOf(*values, shape);
    tensor.ndim = 2;
    if (values == &by_column) tensor.strides = transposed;
    ASSERT_TRUE(agent_->SaveTensor("x", "a", tensor, &status).ok());
    EndStep();
  }
  ASSERT_EQ(recorded_.changes.size(), 2u);
  EXPECT_NE(recorded_.changes[0].digest, 0u);
  EXPECT_EQ(recorded_.changes[0].digest, recorded_.changes[1].digest);
}

TEST_F(RecorderTensorsTest, ComparesWeightsByDefault) {
  Open();
  Values values = {1};
  Weight(&values);
  EndStep();
  EndStep();
  ASSERT_EQ(recorded_.changes.size(), 1u);
  EXPECT_EQ(recorded_.changes[0].changed_count, 0u);
}

TEST_F(RecorderTensorsTest, CountsIdleUnits) {
  Open(R"({"collections": [{"name": "x", "include": ["relu"], "reductions":
      {"units": {"axis": -1, "from": 0, "to": null, "below": 50}}}]})");
  const float inf = std::numeric_limits<float>::infinity();
  Execute(Op("forward/relu"), {0, 1, -1, inf});
  ASSERT_EQ(recorded_.units.size(), 1u);
  const RecordedUnits& units = recorded_.units[0];
  EXPECT_EQ(units.axis, 0u);
  EXPECT_EQ(units.units, 4u);
  EXPECT_EQ(units.idle_units, 3u);
  EXPECT_EQ(units.from, 0);
  EXPECT_EQ(units.to, std::numeric_limits<double>::infinity());
  EXPECT_EQ(units.share, 50);
}

TEST_F(RecorderTensorsTest, CountsUnitsAsEachOfItsCollectionsAsks) {
  Open(R"({"collections": [
      {"name": "a", "include": ["relu"], "reductions": {"units":
          {"axis": 0, "from": 0, "to": null}}},
      {"name": "b", "include": ["relu"], "reductions": {"units":
          {"axis": 0, "from": -9, "to": 9}}},
      {"name": "c", "include": ["relu"], "reductions": {"units":
          {"axis": 0, "from": 0, "to": null}}}]})");
  Execute(Op("forward/relu"), {0, 1, -1, 10});
  ASSERT_EQ(recorded_.units.size(), 2u);
  EXPECT_EQ(recorded_.units[0].idle_units, 2u);
  EXPECT_EQ(recorded_.units[1].idle_units, 1u);
}

TEST_F(RecorderTensorsTest, CountsUnitsOfWhatOpsRead) {
  Open(R"({"collections": [
      {"name": "all"},
      {"name": "x", "read_by": ["tanh"], "reductions": {"units":
          {"axis": 0, "from": -9, "to": 9}}}]})");
  const uint32_t argument = Op("forward/linear");
  const uint32_t tanh =
      Declare("forward/tanh", GRAPHDBG_OP, GRAPHDBG_ACTIVATION, 0, "tanh");
  const uint32_t relu =
      Declare("forward/relu", GRAPHDBG_OP, GRAPHDBG_ACTIVATION, 0, "relu");
  const uint32_t unread = Op("forward/other");
  for (int step = 1; step <= 2; ++step) {
    Execute(argument, {0, 1, -10, 10});
    Execute(tanh, {0, 0.8F, -1, 1}, {{argument}});
    Execute(unread, {0, 1, -10, 10});
    Execute(relu, {0, 1, 0, 10}, {{unread}});
    EndStep();
  }
  // Also in the first step, at whose end it is known what tanh reads.
  ASSERT_EQ(recorded_.units.size(), 2u);
  EXPECT_EQ(recorded_.units[0].idle_units, 2u);
  EXPECT_EQ(recorded_.units[1].idle_units, 2u);
  EXPECT_EQ(NodesOf(1), NodesOf(2));
  const std::string line =
      R"({"collection":"x","tensors":[[)" + std::to_string(argument) + ",0]]}";
  EXPECT_EQ(std::count(recorded_.lines.begin(), recorded_.lines.end(), line),
            1);
}

TEST_F(RecorderTensorsTest, RecordsWhatTheProgramSaves) {
  Open(R"({"collections": [{"name": "losses"},
                           {"name": "mine", "save": {"every": 2}}]})");
  for (float step = 1; step <= 2; ++step) {
    EXPECT_TRUE(Save("accuracy", "metrics", {step}).ok());
    EXPECT_TRUE(Save("samples", "default", {step, step}).ok());
    EXPECT_TRUE(Save("other", "elsewhere", {step}).ok());
    EXPECT_TRUE(Save("often", "mine", {step}).ok());
    EndStep();
  }
  std::vector<std::string> lines = {
      R"({"collection":"default","tensors":[[2,0]]})",
      R"({"collection":"elsewhere","tensors":[[3,0]]})",
      R"({"collection":"metrics","tensors":[[1,0]]})",
      R"({"collection":"mine","tensors":[[4,0]]})"};
  std::sort(recorded_.lines.begin(), recorded_.lines.end());
  EXPECT_EQ(recorded_.lines, lines);
  EXPECT_EQ(NodesOf(1), std::vector<uint32_t>({1, 2, 3}));
  EXPECT_EQ(NodesOf(2), std::vector<uint32_t>({1, 2, 3, 4}));
  ASSERT_EQ(recorded_.tensors.size(), 4u);
  EXPECT_EQ(recorded_.tensors[0].name, "samples");
  EXPECT_EQ(recorded_.tensors[3].values, Values({2}));
}

TEST_F(RecorderTensorsTest, RefusesTheNameOfAnotherNode) {
  Open();
  Op("forward/conv");
  EXPECT_EQ(Save("forward/conv", "metrics", {1}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(RecorderTensorsTest, AModeThatWasSetIsOnePass) {
  Open(R"({"collections": [{"name": "all"}]})");
  const uint32_t op = Op("op");
  Op("optimizer/step", GRAPHDBG_OPTIMIZER);
  agent_->SetMode(GRAPHDBG_EVAL);
  for (int call = 0; call < 2; ++call) {
    agent_->BeginPass(GRAPHDBG_TRAIN, false);
    Execute(op, {1});
    agent_->EndPass();
  }
  agent_->SetMode(GRAPHDBG_MODE_UNKNOWN);
  agent_->BeginPass(GRAPHDBG_TRAIN, false);
  Execute(op, {1});
  EndStep();
  ASSERT_EQ(recorded_.values.size(), 3u);
  EXPECT_EQ(recorded_.values[0].key.mode, runs::Mode::kEval);
  EXPECT_EQ(recorded_.values[1].key.mode, runs::Mode::kEval);
  EXPECT_EQ(recorded_.values[1].key.pass, 1u);
  EXPECT_EQ(recorded_.values[2].key.mode, runs::Mode::kTrain);
  // The step, and the pass within it.
  EXPECT_EQ(recorded_.marks.size(), 4u);
}

TEST_F(RecorderTensorsTest, WithoutAnOptimizerAModeIsThatOfSteps) {
  Open(R"({"collections": [{"name": "all"}]})");
  agent_->SetMode(GRAPHDBG_PREDICT);
  agent_->BeginPass(GRAPHDBG_TRAIN, false);
  Execute(Op("op"), {1});
  EndStep();
  ASSERT_EQ(recorded_.marks.size(), 2u);
  EXPECT_EQ(recorded_.marks[0].key.mode, runs::Mode::kPredict);
  EXPECT_EQ(recorded_.marks[0].key.pass, 0u);
}

}  // namespace
}  // namespace graphdbg::agent
