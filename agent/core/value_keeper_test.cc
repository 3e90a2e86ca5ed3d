#include "agent/core/value_keeper.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace graphdbg::agent {
namespace {

using Mode = ValueKeeper::Mode;

// Two ops, and a parameter that the host resolves to `parameter_`.
class ValueKeeperTest : public testing::Test {
 protected:
  ValueKeeperTest() : host_(MakeHost()), devices_(&host_, [](auto&) {}) {
    op_ = Declare("op", GRAPHDBG_OP);
    other_op_ = Declare("other_op", GRAPHDBG_OP);
    weight_ = Declare("weight", GRAPHDBG_PARAMETER);
    bindings_.Bind(weight_, this);
  }

  Host MakeHost() {
    graphdbg_host callbacks = {};
    callbacks.struct_size = sizeof(callbacks);
    callbacks.user = this;
    callbacks.retain = [](void*, void*) {};
    callbacks.release = [](void*, void*) {};
    callbacks.resolve = [](void* user, void*, graphdbg_tensor* out, int64_t*,
                           int64_t*) {
      auto* test = static_cast<ValueKeeperTest*>(user);
      *out = test->Tensor(&test->parameter_);
      return 0;
    };
    return Host(&callbacks);
  }

  uint32_t Declare(const std::string& name, graphdbg_node_kind kind) {
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name.c_str();
    info.kind = kind;
    const uint32_t node = *nodes_.Declare(info);
    watch_.AddNode(node);
    return node;
  }

  void Watch(const std::string& condition, const std::string& node) {
    v1::SetWatchpoint message;
    message.set_id(1);
    message.set_enabled(true);
    message.mutable_condition()->set_id(condition);
    message.mutable_selection()->add_nodes(node);
    ASSERT_TRUE(watch_.Set(message).ok());
  }

  graphdbg_tensor Tensor(const float* value) {
    graphdbg_tensor tensor = {};
    tensor.struct_size = sizeof(tensor);
    tensor.dtype = GRAPHDBG_FLOAT32;
    tensor.data = value;
    tensor.ndim = 1;
    tensor.shape = &one_;
    tensor.storage_id = reinterpret_cast<uint64_t>(value);
    tensor.owner = this;
    return tensor;
  }

  // `node` reads output 0 of `input` and returns `value_`.
  void Execute(ValueKeeper* keeper, uint32_t node, uint64_t step,
               bool hit = false, uint32_t input = 0) {
    const graphdbg_tensor output = Tensor(&value_);
    const graphdbg_input read = {input, 0, Tensor(&input_)};
    graphdbg_execution execution = {};
    execution.struct_size = sizeof(execution);
    execution.node = node;
    execution.inputs = &read;
    execution.input_count = input == 0 ? 0 : 1;
    execution.outputs = &output;
    execution.output_count = 1;
    keeper->Keep(*watch_.snapshot(), ExecutionOf(execution), step, hit);
  }

  std::unique_ptr<ValueKeeper> Make(bool partial_memory = false) {
    return std::make_unique<ValueKeeper>(
        ValueKeeper::Parts{&host_, &nodes_, &bindings_, &requested_, &devices_},
        1000, partial_memory);
  }

  static float First(const PreviousValue& value) {
    return *static_cast<const float*>(value.tensor().data);
  }

  int64_t one_ = 1;
  float value_ = 1, input_ = 2, parameter_ = 3;
  Host host_;
  Devices devices_;
  NodeTable nodes_;
  WatchTable watch_{&nodes_};
  Bindings bindings_;
  RequestedNodes requested_{&nodes_};
  uint32_t op_, other_op_, weight_;
};

TEST_F(ValueKeeperTest, KeepsNothingWithoutDemand) {
  const auto keeper = Make();
  Execute(keeper.get(), op_, 1);
  EXPECT_FALSE(keeper->kept().Has(op_, 0));
}

TEST_F(ValueKeeperTest, KeepsOutputsUntilTheStepEnds) {
  const auto keeper = Make();
  keeper->SetDemand({Mode::kEverything});
  Execute(keeper.get(), op_, 1);
  EXPECT_TRUE(keeper->kept().Has(op_, 0));
  keeper->EndStep(watch_.snapshot(), 1, /*stepping=*/false);
  EXPECT_FALSE(keeper->kept().Has(op_, 0));
}

TEST_F(ValueKeeperTest, KeepsOnlyWatchedOutputsInPartialMode) {
  const auto keeper = Make(/*partial_memory=*/true);
  keeper->SetDemand({Mode::kWatched});
  Watch("nan", "op");
  Execute(keeper.get(), op_, 1);
  Execute(keeper.get(), other_op_, 1);
  EXPECT_TRUE(keeper->kept().Has(op_, 0));
  EXPECT_FALSE(keeper->kept().Has(other_op_, 0));
}

TEST_F(ValueKeeperTest, AHitAlsoKeepsTheInputs) {
  const auto keeper = Make();
  Execute(keeper.get(), op_, 1, /*hit=*/true, /*input=*/other_op_);
  EXPECT_TRUE(keeper->kept().Has(op_, 0));
  EXPECT_TRUE(keeper->kept().Has(other_op_, 0));
}

TEST_F(ValueKeeperTest, AHitDoesNotKeepBoundInputs) {
  const auto keeper = Make();
  Execute(keeper.get(), op_, 1, /*hit=*/true, /*input=*/weight_);
  EXPECT_FALSE(keeper->kept().Has(weight_, 0));
}

TEST_F(ValueKeeperTest, ValuesToCatchOutliveTheStep) {
  const auto keeper = Make();
  ValueKeeper::Demand demand;
  demand.catching = true;
  requested_.Catch(op_, 0);
  keeper->SetDemand(demand);
  Execute(keeper.get(), op_, 1);
  keeper->EndStep(watch_.snapshot(), 1, /*stepping=*/false);
  EXPECT_TRUE(keeper->kept().Has(op_, 0));
}

TEST_F(ValueKeeperTest, CopiesBoundTensorsWhileTheUserSteps) {
  const auto keeper = Make();
  keeper->KeepBound(*watch_.snapshot(), 1, /*stepping=*/false);
  EXPECT_EQ(keeper->previous_bound().Before(2, weight_, 0), nullptr);
  keeper->KeepBound(*watch_.snapshot(), 1, /*stepping=*/true);
  parameter_ = 4;
  const auto before = keeper->previous_bound().Before(2, weight_, 0);
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(First(*before), 3);
}

TEST_F(ValueKeeperTest, CopiesOutputsThatAreComparedWithThePreviousStep) {
  const auto keeper = Make();
  Watch("tensor_not_changed", "op");
  Execute(keeper.get(), op_, 1);
  keeper->EndStep(watch_.snapshot(), 1, /*stepping=*/false);
  value_ = 5;
  const auto before = keeper->previous_outputs().Before(2, op_, 0);
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(First(*before), 1);
}

TEST_F(ValueKeeperTest, CopiesOutputsOfTheStepInWhichTheWatchpointWasSet) {
  const auto keeper = Make();
  keeper->SetDemand({Mode::kEverything});
  Execute(keeper.get(), op_, 1);
  Watch("tensor_not_changed", "op");
  keeper->EndStep(watch_.snapshot(), 1, /*stepping=*/false);
  EXPECT_NE(keeper->previous_outputs().Before(2, op_, 0), nullptr);
}

TEST_F(ValueKeeperTest, TrustsFindingsAboutMemoryOnlyWhileItSeesWrites) {
  const auto keeper = Make();
  EXPECT_EQ(keeper->seen(), nullptr);
  ValueKeeper::Demand demand;
  demand.sees_writes = true;
  keeper->SetDemand(demand);
  EXPECT_NE(keeper->seen(), nullptr);
  keeper->SetDemand({});
  EXPECT_EQ(keeper->seen(), nullptr);
}

TEST_F(ValueKeeperTest, ClearReleasesEverything) {
  const auto keeper = Make();
  keeper->SetDemand({Mode::kEverything});
  Execute(keeper.get(), op_, 1);
  keeper->KeepBound(*watch_.snapshot(), 1, /*stepping=*/true);
  keeper->Clear();
  EXPECT_FALSE(keeper->kept().Has(op_, 0));
  EXPECT_EQ(keeper->previous_bound().bytes(), 0);
}

}  // namespace
}  // namespace graphdbg::agent
