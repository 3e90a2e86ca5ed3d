#include "agent/core/undecided_infinities.h"

#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Executes ops on float32 vectors, each of which has a storage of its own.
class UndecidedInfinitiesTest : public testing::Test {
 protected:
  struct Value {
    uint32_t node;
    std::vector<float> elements;
    uint64_t storage;
  };

  UndecidedInfinitiesTest() { Watch("inf"); }

  void Watch(const std::string& condition,
             v1::PauseMode pause = v1::PAUSE_MODE_NODE) {
    v1::SetWatchpoint message;
    message.set_id(1);
    message.mutable_condition()->set_id(condition);
    message.set_pause(pause);
    message.set_enabled(true);
    EXPECT_TRUE(watch_.Set(message).ok());
  }

  uint32_t Declare(const std::string& name,
                   graphdbg_category category = GRAPHDBG_ACTIVATION,
                   uint32_t forward_node = 0) {
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name.c_str();
    info.op_type = name.c_str();
    info.kind = GRAPHDBG_OP;
    info.category = category;
    info.forward_node = forward_node;
    const uint32_t node = *nodes_.Declare(info);
    watch_.AddNode(node);
    return node;
  }
  uint32_t DeclareBackward(const std::string& name, uint32_t forward_node) {
    return Declare(name, GRAPHDBG_GRADIENT, forward_node);
  }

  static graphdbg_tensor Tensor(const Value& value, int64_t* size,
                                graphdbg_dtype dtype) {
    *size = static_cast<int64_t>(value.elements.size());
    graphdbg_tensor tensor = {};
    tensor.struct_size = sizeof(tensor);
    tensor.dtype = dtype;
    tensor.data = value.elements.data();
    tensor.ndim = 1;
    tensor.shape = size;
    tensor.storage_id = value.storage;
    return tensor;
  }

  // Executes an op, whose findings are then in findings_. An op of a given
  // storage overwrites it.
  Value Run(const std::string& name, const std::vector<Value>& in,
            std::vector<float> out, uint32_t flags = 0, uint64_t storage = 0) {
    return RunNode(Declare(name), in, std::move(out), flags, storage);
  }
  Value RunNode(uint32_t node, const std::vector<Value>& in,
                std::vector<float> out, uint32_t flags = 0,
                uint64_t storage = 0) {
    if (storage != 0) flags |= GRAPHDBG_IN_PLACE;
    Value result{node, std::move(out), storage != 0 ? storage : ++storage_};
    std::vector<int64_t> sizes(in.size() + 1);
    std::vector<graphdbg_input> inputs;
    for (size_t i = 0; i < in.size(); ++i) {
      inputs.push_back(
          {in[i].node, 0, Tensor(in[i], &sizes[i], GRAPHDBG_FLOAT32)});
    }
    const graphdbg_tensor output = Tensor(result, &sizes.back(), dtype_);
    graphdbg_execution execution = {};
    execution.struct_size = sizeof(execution);
    execution.node = node;
    execution.flags = flags;
    execution.inputs = inputs.data();
    execution.input_count = inputs.size();
    execution.outputs = &output;
    execution.output_count = output_count_;
    const ExecutionPoint point{1, ++order_};
    findings_ = {};
    findings_.may_wait = true;
    checker_.CheckExecution(*watch_.snapshot(), ExecutionOf(execution),
                            /*previous=*/nullptr, /*seen=*/nullptr, point,
                            &findings_);
    undecided_.Executed(ExecutionOf(execution), point, nullptr, &findings_);
    EXPECT_THAT(findings_.undecided, IsEmpty());
    return result;
  }

  void EndStep() {
    findings_ = {};
    undecided_.EndStep(&findings_);
    EXPECT_FALSE(undecided_.any());
  }

  // The ops whose hits were found, those that were absorbed in parentheses.
  std::vector<std::string> Hits() const {
    std::vector<std::string> names;
    for (const v1::Hit& hit : findings_.hits) {
      const std::string name = nodes_.InfoOf(hit.node_id()).name;
      names.push_back(hit.absorbed() ? "(" + name + ")" : name);
    }
    return names;
  }
  bool Stops() const { return !findings_.stop_here.empty(); }

  NodeTable nodes_;
  WatchTable watch_{&nodes_};
  Host host_;
  Devices devices_{&host_, [](const std::string&) {}};
  Checker checker_{&nodes_, &host_, &devices_};
  UndecidedInfinities undecided_{&nodes_, &devices_};
  uint64_t order_ = 0;
  uint64_t storage_ = 0;
  // The outputs'.
  graphdbg_dtype dtype_ = GRAPHDBG_FLOAT32;
  size_t output_count_ = 1;
  Findings findings_;
};

TEST_F(UndecidedInfinitiesTest, AreAbsorbedByAFiniteReader) {
  const Value log = Run("log", {}, {-kInf, 1});
  EXPECT_THAT(Hits(), IsEmpty());
  EXPECT_TRUE(undecided_.any());
  Run("where", {log}, {0, 1});
  EXPECT_THAT(Hits(), IsEmpty());
  EndStep();
  EXPECT_THAT(Hits(), ElementsAre("(log)"));
  EXPECT_FALSE(Stops());
}

TEST_F(UndecidedInfinitiesTest, StopAtAReaderThatSpreadsThem) {
  const Value log = Run("log", {}, {-kInf, 1});
  Run("sum", {log}, {-kInf});
  EXPECT_THAT(Hits(), ElementsAre("log", "sum"));
  EXPECT_TRUE(Stops());
  EndStep();
  EXPECT_THAT(Hits(), IsEmpty());
}

TEST_F(UndecidedInfinitiesTest, StopAtAReaderThatMakesNanOfThem) {
  const Value log = Run("log", {}, {-kInf, 1});
  Run("mul", {log}, {kNan, 1});
  EXPECT_THAT(Hits(), ElementsAre("log"));
  EXPECT_TRUE(Stops());
}

// T5's buckets: log, division and product before the conversion to integers.
TEST_F(UndecidedInfinitiesTest, AreFollowedThroughOpsThatPassThemOn) {
  const Value log = Run("log", {}, {-kInf, 1});
  const Value div = Run("div", {log}, {-kInf, 2});
  const Value view = Run("view", {div}, {-kInf, 2}, GRAPHDBG_MOVES_VALUES);
  EXPECT_THAT(Hits(), IsEmpty());
  Run("to", {view}, {-9, 2});
  EndStep();
  EXPECT_THAT(Hits(), ElementsAre("(log)", "(div)", "(view)"));
}

TEST_F(UndecidedInfinitiesTest, StopWithTheirOriginAfterOpsThatPassThemOn) {
  const Value log = Run("log", {}, {-kInf, 1});
  const Value div = Run("div", {log}, {-kInf, 2});
  Run("mean", {div}, {-kInf});
  EXPECT_THAT(Hits(), ElementsAre("log", "div", "mean"));
  EXPECT_TRUE(Stops());
}

TEST_F(UndecidedInfinitiesTest, ASecondReaderDecidesAfterOneThatAbsorbed) {
  const Value log = Run("log", {}, {-kInf, 1});
  Run("clamp", {log}, {0, 1});
  Run("sum", {log}, {-kInf});
  EXPECT_THAT(Hits(), ElementsAre("log", "sum"));
}

TEST_F(UndecidedInfinitiesTest, StopAtTheEndOfTheStepIfNothingReadThem) {
  Run("log", {}, {-kInf, 1});
  EndStep();
  EXPECT_THAT(Hits(), ElementsAre("log"));
  EXPECT_TRUE(Stops());
}

TEST_F(UndecidedInfinitiesTest, ComparisonsAndShapesAreNoReaders) {
  const Value log = Run("log", {}, {-kInf, 1});
  Run("aten::zeros_like", {log}, {0, 0});
  dtype_ = GRAPHDBG_BOOL;
  Run("isfinite", {log}, {0, 0});
  // item() has no output.
  dtype_ = GRAPHDBG_FLOAT32;
  output_count_ = 0;
  Run("_local_scalar_dense", {log}, {});
  EndStep();
  EXPECT_THAT(Hits(), ElementsAre("log"));
}

TEST_F(UndecidedInfinitiesTest, ABackwardPassReadsItsRoot) {
  const Value log = Run("log", {}, {-kInf});
  Run("ones_like", {log}, {1});
  EXPECT_THAT(Hits(), IsEmpty());
  RunNode(Declare("log_backward", GRAPHDBG_GRADIENT), {}, {1});
  EXPECT_THAT(Hits(), ElementsAre("log"));
  EXPECT_TRUE(Stops());
}

TEST_F(UndecidedInfinitiesTest, ABadGradientOfTheOpIsTheirs) {
  const Value log = Run("log", {}, {-kInf, 1});
  Run("where", {log}, {0, 1});
  RunNode(DeclareBackward("div", log.node), {}, {kNan, 1});
  EXPECT_THAT(Hits(), ElementsAre("log"));
  EXPECT_TRUE(Stops());
}

TEST_F(UndecidedInfinitiesTest, AGoodGradientOfTheOpLeavesThemAbsorbed) {
  const Value log = Run("log", {}, {-kInf, 1});
  Run("where", {log}, {0, 1});
  RunNode(DeclareBackward("div", log.node), {}, {0, 1});
  EndStep();
  EXPECT_THAT(Hits(), ElementsAre("(log)"));
}

TEST_F(UndecidedInfinitiesTest, GradientsWaitForTheOptimizer) {
  const Value gradient =
      RunNode(Declare("exp_backward", GRAPHDBG_GRADIENT), {}, {kInf, 1});
  RunNode(Declare("mm_backward", GRAPHDBG_GRADIENT), {}, {1});
  EXPECT_THAT(Hits(), IsEmpty());
  RunNode(Declare("add_", GRAPHDBG_OPTIMIZER), {gradient}, {kInf, 1});
  EXPECT_THAT(Hits(), ElementsAre("exp_backward", "add_"));
  EXPECT_TRUE(Stops());
}

TEST_F(UndecidedInfinitiesTest, OverwritingAbsorbsThem) {
  const Value log = Run("log", {}, {-kInf, 1});
  Run("clamp_", {log}, {0, 1}, 0, log.storage);
  EndStep();
  EXPECT_THAT(Hits(), ElementsAre("(log)"));
}

TEST_F(UndecidedInfinitiesTest, AnotherViewOfTheirMemoryIsTheirsIfInfinite) {
  const Value log = Run("log", {}, {-kInf, 1});
  const Value finite_half{0, {1}, log.storage};
  Run("sum", {finite_half}, {1});
  EndStep();
  EXPECT_THAT(Hits(), ElementsAre("log"));

  const Value again = Run("log", {}, {-kInf, 1});
  const Value infinite_half{0, {-kInf}, again.storage};
  Run("clamp", {infinite_half}, {1});
  EndStep();
  EXPECT_THAT(Hits(), ElementsAre("(log)"));
}

TEST_F(UndecidedInfinitiesTest, AnOwnInfinityOfAReaderStands) {
  const Value log = Run("log", {}, {-kInf, 1});
  Run("exp", {log}, {kInf, kInf});
  EXPECT_THAT(Hits(), ElementsAre("log", "exp"));
}

TEST_F(UndecidedInfinitiesTest, SeveralShareTheFateOfTheirSum) {
  const Value a = Run("a", {}, {kInf, 1, 1});
  const Value b = Run("b", {}, {1, kInf, 1});
  const Value add = Run("add", {a, b}, {kInf, kInf, 1});
  EXPECT_THAT(Hits(), IsEmpty());
  Run("sum", {add}, {kInf});
  EXPECT_THAT(Hits(), ElementsAre("a", "b", "add", "sum"));
  EXPECT_TRUE(Stops());
}

TEST_F(UndecidedInfinitiesTest, NanStopsAtOnce) {
  Watch("overflow");
  Run("sqrt", {}, {kNan, kInf});
  EXPECT_THAT(Hits(), ElementsAre("sqrt"));
  EXPECT_TRUE(Stops());
  EXPECT_FALSE(undecided_.any());
}

TEST_F(UndecidedInfinitiesTest, TheModeOfTheWatchpointApplies) {
  Watch("inf", v1::PAUSE_MODE_STEP);
  const Value log = Run("log", {}, {-kInf, 1});
  Run("sum", {log}, {-kInf});
  EXPECT_THAT(findings_.stop_at_step_end, ElementsAre(1u));
  EXPECT_FALSE(Stops());
}

}  // namespace
}  // namespace graphdbg::agent
