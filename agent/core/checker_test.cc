#include "agent/core/checker.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

// Executes single ops with float32 vectors as inputs and outputs.
class CheckerTest : public testing::Test {
 protected:
  struct In {
    uint32_t node;
    std::vector<float> values;
    // The op overwrites it.
    bool overwritten = false;
  };

  uint32_t Declare(const std::string& name,
                   graphdbg_category category = GRAPHDBG_OTHER) {
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name.c_str();
    info.kind = GRAPHDBG_OP;
    info.category = category;
    const uint32_t node = *nodes_.Declare(info);
    watch_.AddNode(node);
    return node;
  }

  void Watch(uint32_t id, const std::string& condition,
             v1::PauseMode pause = v1::PAUSE_MODE_NODE,
             std::map<std::string, double> params = {},
             std::map<std::string, std::string> texts = {}) {
    v1::SetWatchpoint message;
    message.set_id(id);
    message.mutable_condition()->set_id(condition);
    message.mutable_condition()->mutable_params()->insert(params.begin(),
                                                          params.end());
    message.mutable_condition()->mutable_text_params()->insert(texts.begin(),
                                                               texts.end());
    message.set_pause(pause);
    message.set_enabled(true);
    EXPECT_TRUE(watch_.Set(message).ok());
  }

  graphdbg_tensor Tensor(const std::vector<float>& values, int64_t* size,
                         uint64_t storage) {
    *size = static_cast<int64_t>(values.size());
    graphdbg_tensor tensor = {};
    tensor.struct_size = sizeof(tensor);
    tensor.dtype = GRAPHDBG_FLOAT32;
    tensor.data = values.data();
    tensor.ndim = 1;
    tensor.shape = size;
    tensor.storage_id = storage;
    return tensor;
  }

  Findings Execute(uint32_t node, const std::vector<In>& in,
                   const std::vector<float>& out, uint32_t flags = 0,
                   uint64_t step = 1) {
    std::vector<graphdbg_input> inputs;
    std::vector<int64_t> sizes(in.size() + 1);
    const uint64_t own_storage = 1000;
    for (size_t i = 0; i < in.size(); ++i) {
      const std::vector<float>& values = in[i].overwritten ? out : in[i].values;
      inputs.push_back(
          {in[i].node, 0,
           Tensor(values, &sizes[i], in[i].overwritten ? own_storage : i + 1)});
    }
    const graphdbg_tensor output = Tensor(out, &sizes.back(), own_storage);
    graphdbg_execution execution = {};
    execution.struct_size = sizeof(execution);
    execution.node = node;
    execution.flags = flags;
    execution.inputs = inputs.data();
    execution.input_count = inputs.size();
    execution.outputs = &output;
    execution.output_count = 1;
    passed_quickly_ = checker_.IsPlainlyFine(*watch_.snapshot(),
                                             ExecutionOf(execution), {step, 1});
    Findings findings;
    checker_.CheckExecution(*watch_.snapshot(), ExecutionOf(execution),
                            /*previous=*/nullptr, /*seen=*/nullptr, {step, 1},
                            &findings);
    EXPECT_TRUE(findings.empty() || !passed_quickly_);
    return findings;
  }

  // Executes a gradient op in float16, whose outputs are given as bits.
  Findings ExecuteHalf(uint32_t node, const std::vector<In>& in,
                       const std::vector<uint16_t>& out, double scale,
                       uint64_t step = 1) {
    std::vector<graphdbg_input> inputs;
    std::vector<int64_t> sizes(in.size() + 1);
    for (size_t i = 0; i < in.size(); ++i) {
      inputs.push_back({in[i].node, 0, Tensor(in[i].values, &sizes[i], i + 1)});
    }
    sizes.back() = static_cast<int64_t>(out.size());
    graphdbg_tensor output = {};
    output.struct_size = sizeof(output);
    output.dtype = GRAPHDBG_FLOAT16;
    output.data = out.data();
    output.ndim = 1;
    output.shape = &sizes.back();
    output.storage_id = 1000;
    graphdbg_execution execution = {};
    execution.struct_size = sizeof(execution);
    execution.node = node;
    execution.inputs = inputs.data();
    execution.input_count = inputs.size();
    execution.outputs = &output;
    execution.output_count = 1;
    execution.grad_scale = scale;
    Findings findings;
    checker_.CheckExecution(*watch_.snapshot(), ExecutionOf(execution), nullptr,
                            /*seen=*/nullptr, {step, 1}, &findings);
    return findings;
  }

  v1::HitOrigin OriginOf(const Findings& findings) {
    EXPECT_EQ(findings.hits.size(), 1u);
    return findings.hits.empty() ? v1::HIT_ORIGIN_UNKNOWN
                                 : findings.hits[0].origin();
  }

  NodeTable nodes_;
  WatchTable watch_{&nodes_};
  Host host_;
  std::vector<std::string> complaints_;
  Devices devices_{
      &host_, [this](const std::string& line) { complaints_.push_back(line); }};
  Checker checker_{&nodes_, &host_, &devices_};
  bool passed_quickly_ = false;
};

TEST_F(CheckerTest, AQuickLookSufficesForFiniteNumbersAndSuchConditions) {
  const uint32_t node = Declare("a");
  Execute(node, {}, {1, kInf});
  EXPECT_TRUE(passed_quickly_);
  Watch(1, "overflow");
  Watch(2, "nan");
  Execute(node, {}, {1, 2});
  EXPECT_TRUE(passed_quickly_);
  Execute(node, {}, {1, kInf});
  EXPECT_FALSE(passed_quickly_);
  Watch(3, "max_gt", v1::PAUSE_MODE_NODE, {{"value", 5}});
  Execute(node, {}, {1, 2});
  EXPECT_FALSE(passed_quickly_);
}

TEST_F(CheckerTest, AViewOfWhatWasSeenIsNotReadAgain) {
  const uint32_t node = Declare("a");
  Watch(1, "nan");
  SeenValues seen;
  std::vector<float> memory(SeenValues::kWorthwhileBytes / sizeof(float), 1);
  int64_t size = 0;
  const graphdbg_tensor output = Tensor(memory, &size, /*storage=*/7);
  const auto hits = [&](uint32_t flags) {
    graphdbg_execution execution = {};
    execution.struct_size = sizeof(execution);
    execution.node = node;
    execution.flags = flags;
    execution.outputs = &output;
    execution.output_count = 1;
    Findings findings;
    checker_.CheckExecution(*watch_.snapshot(), ExecutionOf(execution),
                            /*previous=*/nullptr, &seen, {1, 1}, &findings);
    return findings.hits.size();
  };
  EXPECT_EQ(hits(0), 0u);
  // Nobody has been told of this write.
  memory[3] = kNan;
  EXPECT_EQ(hits(GRAPHDBG_VIEW), 0u);
  seen.RecordWrite(7);
  EXPECT_EQ(hits(GRAPHDBG_VIEW), 1u);
}

TEST_F(CheckerTest, WhatIsNotWatchedIsNotLookedAt) {
  const uint32_t a = Declare("a");
  EXPECT_THAT(Execute(a, {}, {kNan}).hits, IsEmpty());
}

TEST_F(CheckerTest, StopsAreSortedByWhereTheyTakeEffect) {
  const uint32_t a = Declare("a");
  Watch(1, "nan", v1::PAUSE_MODE_NODE);
  Watch(2, "overflow", v1::PAUSE_MODE_STEP);
  Watch(3, "max_gt", v1::PAUSE_MODE_NONE, {{"value", 4}});
  const Findings findings = Execute(a, {}, {kNan, 5});
  EXPECT_EQ(findings.hits.size(), 3u);
  EXPECT_THAT(findings.stop_here, ElementsAre(1));
  EXPECT_THAT(findings.stop_at_step_end, ElementsAre(2));
  EXPECT_EQ(findings.hits[2].actual().at("max"), 5);
}

TEST_F(CheckerTest, ALastingLackOfPreviousValuesIsToldOnce) {
  const uint32_t a = Declare("a");
  Watch(1, "tensor_not_changed");
  for (uint64_t step : {1, 1, 2}) {
    EXPECT_TRUE(Execute(a, {}, {1}, 0, step).empty()) << step;
  }
  const Findings findings = Execute(a, {}, {1}, 0, 3);
  EXPECT_THAT(findings.hits, IsEmpty());
  ASSERT_EQ(findings.unchecked.size(), 1u);
  EXPECT_EQ(findings.unchecked[0].id(), 1u);
  EXPECT_EQ(findings.unchecked[0].error().reason(), "no_previous_value");
  EXPECT_TRUE(Execute(a, {}, {1}, 0, 4).empty());
}

TEST_F(CheckerTest, ABoundTensorIsComparedWithItsPreviousValue) {
  const uint32_t weight = Declare("weight");
  Watch(1, "tensor_not_changed");
  int64_t size;
  const std::vector<float> old = {1, 2}, values = {1, 2}, other = {1, 3};
  const graphdbg_tensor previous = Tensor(old, &size, 1);
  Findings same, changed;
  checker_.CheckBound(*watch_.snapshot(), weight, Tensor(values, &size, 2),
                      &previous, {2, 1}, &same);
  checker_.CheckBound(*watch_.snapshot(), weight, Tensor(other, &size, 2),
                      &previous, {2, 2}, &changed);
  EXPECT_EQ(same.hits.size(), 1u);
  EXPECT_TRUE(changed.empty());
}

TEST_F(CheckerTest, UninitializedMemoryIsNotChecked) {
  const uint32_t a = Declare("a");
  Watch(1, "nan");
  EXPECT_THAT(Execute(a, {}, {kNan}, GRAPHDBG_UNINITIALIZED).hits, IsEmpty());
}

TEST_F(CheckerTest, TheFirstNodeThatShowsItIsTheOrigin) {
  const uint32_t a = Declare("a");
  const uint32_t b = Declare("b");
  Watch(1, "nan");
  EXPECT_EQ(OriginOf(Execute(a, {{0, {1, 2}}}, {1, kNan})),
            v1::HIT_ORIGIN_ORIGIN);
  EXPECT_EQ(OriginOf(Execute(b, {{a, {1, kNan}}}, {kNan})),
            v1::HIT_ORIGIN_PROPAGATED);
}

TEST_F(CheckerTest, WhatPassesItOnDoesNotStopAgain) {
  const uint32_t a = Declare("a");
  const uint32_t b = Declare("b");
  Watch(1, "nan");
  const auto pass_on = [&](uint64_t step) {
    return Execute(b, {{a, {kNan}}}, {kNan}, 0, step);
  };
  EXPECT_THAT(Execute(a, {{0, {1}}}, {kNan}).stop_here, ElementsAre(1));
  EXPECT_EQ(pass_on(1).hits.size(), 1u);
  EXPECT_THAT(pass_on(1).stop_here, IsEmpty());
  EXPECT_THAT(pass_on(2).stop_here, IsEmpty());
  // After a step without any, it is a new one.
  EXPECT_THAT(pass_on(4).stop_here, ElementsAre(1));
  EXPECT_THAT(Execute(a, {{0, {1}}}, {kNan}, 0, 4).stop_here, ElementsAre(1));
}

TEST_F(CheckerTest, WhatPassesItOnStopsIfThatIsWanted) {
  const uint32_t a = Declare("a");
  Watch(1, "nan", v1::PAUSE_MODE_NODE, {}, {{"propagated", "stop"}});
  Watch(2, "abs_max_gt", v1::PAUSE_MODE_NODE, {{"value", 10}});
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Execute(a, {{0, {kNan, 11}}}, {kNan, 11}).stop_here,
                ElementsAre(1, 2));
  }
}

TEST_F(CheckerTest, AHitHasWhatItsOpHasRead) {
  const uint32_t a = Declare("a");
  Watch(1, "nan");
  const Findings begins =
      Execute(a, {{0, {-2, 3}}, {0, {}, true}}, {kNan}, GRAPHDBG_IN_PLACE);
  ASSERT_EQ(begins.hits.size(), 1u);
  // The other was overwritten.
  ASSERT_EQ(begins.hits[0].inputs_size(), 1);
  const v1::HitInput& input = begins.hits[0].inputs(0);
  EXPECT_EQ(input.position(), 0u);
  EXPECT_EQ(input.statistics().min(), -2);
  EXPECT_EQ(input.type().dtype(), v1::DTYPE_FLOAT32);
  const Findings passes_on = Execute(a, {{0, {kNan}}}, {kNan});
  ASSERT_EQ(passes_on.hits.size(), 1u);
  EXPECT_EQ(passes_on.hits[0].inputs_size(), 0);
}

TEST_F(CheckerTest, ComparisonsPropagateByTheSameComparison) {
  const uint32_t a = Declare("a");
  Watch(1, "abs_max_gt", v1::PAUSE_MODE_NODE, {{"value", 10}});
  EXPECT_EQ(OriginOf(Execute(a, {{0, {9}}}, {11})), v1::HIT_ORIGIN_ORIGIN);
  EXPECT_EQ(OriginOf(Execute(a, {{0, {-12}}}, {11})),
            v1::HIT_ORIGIN_PROPAGATED);
}

TEST_F(CheckerTest, WhatWasOverwrittenCannotTellTheOrigin) {
  const uint32_t a = Declare("a");
  Watch(1, "nan");
  EXPECT_EQ(OriginOf(Execute(a, {{0, {}, true}, {0, {1}}}, {kNan},
                             GRAPHDBG_IN_PLACE)),
            v1::HIT_ORIGIN_UNKNOWN);
  EXPECT_EQ(OriginOf(Execute(a, {{0, {}, true}, {0, {kNan}}}, {kNan},
                             GRAPHDBG_IN_PLACE)),
            v1::HIT_ORIGIN_PROPAGATED);
}

TEST_F(CheckerTest, WhatAnOverwrittenInputsMakerShowedTellsTheOrigin) {
  const uint32_t make = Declare("make");
  const uint32_t divide = Declare("div_");
  Watch(1, "nan");
  const In overwritten{make, {}, true};
  Execute(make, {{0, {1}}}, {1});
  EXPECT_EQ(OriginOf(Execute(divide, {overwritten, {0, {0}}}, {kNan},
                             GRAPHDBG_IN_PLACE)),
            v1::HIT_ORIGIN_ORIGIN);
  // It is no longer what the first op produced.
  EXPECT_EQ(OriginOf(Execute(divide, {overwritten, {0, {0}}}, {kNan},
                             GRAPHDBG_IN_PLACE)),
            v1::HIT_ORIGIN_UNKNOWN);
}

TEST_F(CheckerTest, AWeightThatWasFiniteAStepAgoTellsTheOriginOfItsUpdate) {
  const uint32_t weight = Declare("weight", GRAPHDBG_WEIGHT);
  const uint32_t update = Declare("addcdiv_", GRAPHDBG_OPTIMIZER);
  Watch(1, "nan");
  const std::vector<float> values = {1, 2};
  int64_t size = 2;
  Findings findings;
  checker_.CheckBound(*watch_.snapshot(), weight, Tensor(values, &size, 2),
                      /*previous=*/nullptr, {1, 1}, &findings);
  for (const auto& [step, origin] : {std::pair{3u, v1::HIT_ORIGIN_UNKNOWN},
                                     std::pair{2u, v1::HIT_ORIGIN_ORIGIN}}) {
    EXPECT_EQ(OriginOf(Execute(update, {{weight, {}, true}, {0, {0}}}, {kNan},
                               GRAPHDBG_IN_PLACE, step)),
              origin);
    checker_.CheckBound(*watch_.snapshot(), weight, Tensor(values, &size, 2),
                        /*previous=*/nullptr, {1, 1}, &findings);
  }
}

TEST_F(CheckerTest, ViewsOfUninitializedMemoryAreNotCheckedEither) {
  const uint32_t empty = Declare("empty");
  const uint32_t view = Declare("detach");
  const uint32_t exp = Declare("exp");
  Watch(1, "nan");
  Execute(empty, {}, {kNan}, GRAPHDBG_UNINITIALIZED);
  EXPECT_THAT(
      Execute(view, {{empty, {kNan}}}, {kNan}, GRAPHDBG_MOVES_VALUES).hits,
      IsEmpty());
  EXPECT_EQ(Execute(exp, {{view, {kNan}}}, {kNan}).hits.size(), 1u);
  EXPECT_EQ(
      Execute(view, {{exp, {kNan}}}, {kNan}, GRAPHDBG_MOVES_VALUES).hits.size(),
      1u);
}

TEST_F(CheckerTest, ALoneInfinityFromOutOfSightIsMeant) {
  const uint32_t minimum = Declare("minimum");
  Watch(1, "inf");
  EXPECT_THAT(Execute(minimum, {{0, {kInf}}}, {kInf}).hits, IsEmpty());
  EXPECT_EQ(Execute(minimum, {{0, {kInf, 1}}}, {kInf, 1}).hits.size(), 1u);
}

TEST_F(CheckerTest, MovingValuesIsNoOrigin) {
  const uint32_t a = Declare("a");
  Watch(1, "nan");
  EXPECT_EQ(OriginOf(Execute(a, {{0, {kNan}}}, {kNan}, GRAPHDBG_MOVES_VALUES)),
            v1::HIT_ORIGIN_PROPAGATED);
  EXPECT_EQ(OriginOf(Execute(a, {{0, {1}}}, {kNan}, GRAPHDBG_MOVES_VALUES)),
            v1::HIT_ORIGIN_UNKNOWN);
}

// scores.masked_fill(mask, -inf) and values derived from it.
TEST_F(CheckerTest, InfinitiesThatWereAskedForAreNoHit) {
  const uint32_t fill = Declare("masked_fill");
  const uint32_t add = Declare("add");
  const uint32_t other = Declare("other");
  Watch(1, "inf");
  Watch(2, "overflow");
  EXPECT_THAT(Execute(fill, {}, {1, -kInf}, GRAPHDBG_EXPLICIT_NONFINITE).hits,
              IsEmpty());
  EXPECT_THAT(
      Execute(add, {{other, {1, 2}}, {fill, {0, -kInf}}}, {1, -kInf}).hits,
      IsEmpty());
  // The mark is passed on.
  EXPECT_THAT(Execute(other, {{add, {1, -kInf}}}, {2, -kInf}).hits, IsEmpty());
}

TEST_F(CheckerTest, AnInfinityFromElsewhereIsAHitBesideAMeantOne) {
  const uint32_t fill = Declare("masked_fill");
  const uint32_t exp = Declare("exp");
  const uint32_t add = Declare("add");
  Watch(1, "inf", v1::PAUSE_MODE_NODE);
  Execute(fill, {}, {-kInf}, GRAPHDBG_EXPLICIT_NONFINITE);
  EXPECT_EQ(Execute(exp, {{0, {100}}}, {kInf}).hits.size(), 1u);
  EXPECT_EQ(Execute(add, {{fill, {-kInf}}, {exp, {kInf}}}, {-kInf}).hits.size(),
            1u);
  // The origin of this one is unknown.
  EXPECT_EQ(Execute(add, {{0, {kInf, 1}}}, {kInf, 1}).hits.size(), 1u);
}

TEST_F(CheckerTest, AMarkHoldsForItsStepOnly) {
  const uint32_t fill = Declare("masked_fill");
  const uint32_t add = Declare("add");
  Watch(1, "inf");
  Execute(fill, {}, {-kInf}, GRAPHDBG_EXPLICIT_NONFINITE, 1);
  EXPECT_EQ(Execute(add, {{fill, {-kInf}}}, {-kInf}, 0, 2).hits.size(), 1u);
}

TEST_F(CheckerTest, NanIsAHitWhateverWasMeant) {
  const uint32_t fill = Declare("masked_fill");
  const uint32_t softmax = Declare("softmax");
  Watch(1, "overflow");
  EXPECT_EQ(
      Execute(fill, {}, {kNan, -kInf}, GRAPHDBG_EXPLICIT_NONFINITE).hits.size(),
      1u);
  // A row that is masked completely: the NaN originates here.
  EXPECT_EQ(OriginOf(Execute(softmax, {{fill, {-kInf, -kInf}}}, {kNan, kNan})),
            v1::HIT_ORIGIN_ORIGIN);
}

TEST_F(CheckerTest, AddingAMaskInPlaceIsMeantToo) {
  const uint32_t fill = Declare("full");
  const uint32_t add = Declare("add_");
  Watch(1, "inf");
  Execute(fill, {}, {-kInf, 0}, GRAPHDBG_EXPLICIT_NONFINITE);
  EXPECT_THAT(Execute(add, {{0, {}, true}, {fill, {-kInf, 0}}}, {-kInf, 1},
                      GRAPHDBG_IN_PLACE)
                  .hits,
              IsEmpty());
}

TEST_F(CheckerTest, BuffersMadeWithInfinitiesAreMeantForEver) {
  const uint32_t mask = Declare("mask");
  const uint32_t add = Declare("add");
  Watch(1, "inf");
  nodes_.Facts(mask)->intentional_infinities_in_step = NodeFacts::kAlways;
  EXPECT_THAT(Execute(add, {{mask, {-kInf}}}, {-kInf}, 0, 9).hits, IsEmpty());
}

// Masks are often created before the first step, which is not followed.
TEST_F(CheckerTest, AMaskFromOutOfSightIsMeantAndNothingElseFromThere) {
  const uint32_t view = Declare("unsqueeze");
  const uint32_t add = Declare("add");
  Watch(1, "overflow");
  EXPECT_THAT(Execute(view, {{0, {0, -kInf}}}, {0, -kInf}).hits, IsEmpty());
  EXPECT_THAT(Execute(add, {{view, {0, -kInf}}, {0, {1, 2}}}, {1, -kInf}).hits,
              IsEmpty());
  for (const std::vector<float>& values :
       {std::vector<float>{0, kInf}, {1, -kInf}, {0, kNan}}) {
    EXPECT_EQ(OriginOf(Execute(view, {{0, values}}, values)),
              v1::HIT_ORIGIN_PROPAGATED);
  }
}

TEST_F(CheckerTest, WhatCannotBeCheckedIsSaidOnce) {
  const uint32_t a = Declare("a");
  Watch(1, "nan");
  int64_t size;
  const std::vector<float> values = {kNan};
  graphdbg_tensor output = Tensor(values, &size, 1);
  output.device = GRAPHDBG_CUDA;
  graphdbg_execution execution = {};
  execution.struct_size = sizeof(execution);
  execution.node = a;
  execution.outputs = &output;
  execution.output_count = 1;
  Findings findings;
  for (int i = 0; i < 3; ++i) {
    checker_.CheckExecution(*watch_.snapshot(), ExecutionOf(execution),
                            /*previous=*/nullptr, /*seen=*/nullptr, {1, 1},
                            &findings);
  }
  EXPECT_THAT(findings.hits, IsEmpty());
  EXPECT_EQ(complaints_.size(), 1u);
}

// Values in float16.
constexpr uint16_t kHalfOne = 0x3c00;
constexpr uint16_t kHalfInf = 0x7c00;
constexpr uint16_t kHalfNan = 0x7e00;

class ScaledGradients : public CheckerTest {
 protected:
  ScaledGradients() {
    for (uint32_t id = 1; id <= 2; ++id) Watch(id, id == 1 ? "nan" : "inf");
  }
  const uint32_t mm_ = Declare("mm", GRAPHDBG_GRADIENT);
  const uint32_t next_ = Declare("next", GRAPHDBG_GRADIENT);
  const uint32_t update_ = Declare("update", GRAPHDBG_OPTIMIZER);
};

TEST_F(ScaledGradients, AnOverflowInFloat16IsTheScalersAndSaidOnce) {
  const Findings first = ExecuteHalf(mm_, {{0, {1}}}, {kHalfInf}, 65536);
  EXPECT_THAT(first.hits, IsEmpty());
  EXPECT_THAT(first.notice, testing::HasSubstr("mm"));
  EXPECT_THAT(first.notice, testing::HasSubstr("65536"));
  const Findings second = ExecuteHalf(mm_, {{0, {1}}}, {kHalfInf}, 32768, 2);
  EXPECT_TRUE(second.empty());
}

TEST_F(ScaledGradients, WhatComesOfItInTheSameStepIsTheScalersToo) {
  ExecuteHalf(mm_, {{0, {1}}}, {kHalfInf}, 65536);
  EXPECT_THAT(Execute(next_, {{mm_, {kInf}}}, {kNan}).hits, IsEmpty());
  // Unscaled in place, outside the backward pass.
  EXPECT_THAT(Execute(mm_, {{next_, {}, true}}, {kNan}, GRAPHDBG_IN_PLACE).hits,
              IsEmpty());
  EXPECT_EQ(Execute(next_, {{mm_, {kInf}}}, {kNan}, 0, 2).hits.size(), 1u);
}

TEST_F(ScaledGradients, WithoutAScaleAnOverflowIsAHit) {
  EXPECT_EQ(ExecuteHalf(mm_, {{0, {1}}}, {kHalfInf}, 0).hits.size(), 1u);
  EXPECT_EQ(ExecuteHalf(mm_, {{0, {1}}}, {kHalfInf}, 1).hits.size(), 1u);
}

TEST_F(ScaledGradients, NanOfFiniteInputsIsAHit) {
  EXPECT_EQ(
      ExecuteHalf(mm_, {{0, {1}}}, {kHalfNan, kHalfOne}, 65536).hits.size(),
      1u);
}

TEST_F(ScaledGradients, InfinityInFloat32IsAHit) {
  ExecuteHalf(mm_, {{0, {1}}}, {kHalfInf}, 65536);
  EXPECT_EQ(Execute(next_, {{0, {1}}}, {kInf}).hits.size(), 1u);
}

TEST_F(ScaledGradients, WhatComesOfAGenuineOneIsAHitToo) {
  const uint32_t loss = Declare("loss");
  EXPECT_EQ(Execute(loss, {{0, {0}}}, {kInf}).hits.size(), 1u);
  EXPECT_EQ(ExecuteHalf(mm_, {{loss, {kInf}}}, {kHalfInf}, 65536).hits.size(),
            1u);
}

TEST_F(ScaledGradients, AnOptimizerThatTakesItIntoAWeightIsAHit) {
  const uint32_t weight = Declare("weight", GRAPHDBG_WEIGHT);
  ExecuteHalf(mm_, {{0, {1}}}, {kHalfInf}, 65536);
  EXPECT_EQ(Execute(update_, {{weight, {}, true}, {mm_, {kInf}}}, {kNan},
                    GRAPHDBG_IN_PLACE)
                .hits.size(),
            1u);
  // The gradient itself, which a fused optimizer also writes, does not count.
  EXPECT_THAT(
      Execute(update_, {{mm_, {}, true}}, {kNan}, GRAPHDBG_IN_PLACE).hits,
      IsEmpty());
}

TEST_F(ScaledGradients, ConditionsSeeTheTrueGradients) {
  Watch(3, "max_gt", v1::PAUSE_MODE_NONE, {{"value", 0.25}});
  EXPECT_THAT(ExecuteHalf(mm_, {{0, {1}}}, {kHalfOne}, 4).hits, IsEmpty());
  const Findings findings = ExecuteHalf(mm_, {{0, {1}}}, {kHalfOne}, 2);
  ASSERT_EQ(findings.hits.size(), 1u);
  EXPECT_EQ(findings.hits[0].actual().at("max"), 0.5);
  EXPECT_EQ(findings.hits[0].actual().at("grad_scale"), 2);
  EXPECT_EQ(findings.hits[0].statistics().l2(), 0.5);
}

TEST_F(CheckerTest, AMaskThatIsGivenToTheModelIsMeant) {
  const uint32_t mask = Declare("mask");
  Watch(1, "inf");
  EXPECT_THAT(Execute(mask, {}, {0, -kInf}, GRAPHDBG_GIVEN).hits, IsEmpty());
  EXPECT_EQ(Execute(mask, {}, {1, -kInf}, GRAPHDBG_GIVEN).hits.size(), 1u);
}

TEST_F(CheckerTest, InfinitiesOfNodesThatTheUserListsAreMeant) {
  nodes_.set_intentional({conditions::PatternSet({"**/attention/score*"}),
                          conditions::PatternSet({"where"})});
  const uint32_t score = Declare("forward/attention/scores_1");
  const uint32_t add = Declare("forward/attention/add");
  Watch(1, "overflow");
  for (const uint64_t step : {1, 2}) {
    EXPECT_THAT(Execute(score, {{0, {1}}}, {kInf, 1}, 0, step).hits, IsEmpty());
    // So are infinities that come only from there.
    EXPECT_THAT(Execute(add, {{score, {kInf, 1}}}, {kInf, 2}, 0, step).hits,
                IsEmpty());
    EXPECT_EQ(Execute(add, {{score, {1, 1}}}, {kInf, 2}, 0, step).hits.size(),
              1u);
  }
  EXPECT_EQ(Execute(score, {{0, {1}}}, {kNan, kInf}).hits.size(), 1u);
  graphdbg_node_info where = {};
  where.struct_size = sizeof(where);
  where.name = "forward/clamp/where";
  where.op_type = "where";
  where.kind = GRAPHDBG_OP;
  EXPECT_TRUE(nodes_.Facts(*nodes_.Declare(where))->intentional);
  EXPECT_FALSE(nodes_.Facts(add)->intentional);
}

TEST_F(CheckerTest, TooManyChannelsAreToldOnce) {
  const uint32_t a = Declare("a");
  Watch(1, "max_gt", v1::PAUSE_MODE_NODE, {{"value", 2}, {"axis", 0}});
  EXPECT_EQ(Execute(a, {}, {1, 3}).hits.size(), 1u);
  const std::vector<float> many(65'537, 3);
  const Findings findings = Execute(a, {}, many);
  EXPECT_THAT(findings.hits, IsEmpty());
  ASSERT_EQ(findings.unchecked.size(), 1u);
  EXPECT_EQ(findings.unchecked[0].error().reason(), "too_many_channels");
  EXPECT_EQ(
      findings.unchecked[0].error().message(),
      "cannot check the condition on \"a\" because it has more than 65536 "
      "channels along the axis");
  EXPECT_TRUE(Execute(a, {}, many).empty());
}

TEST_F(CheckerTest, OnlyTensorsOfTheSelectedTypesAreTested) {
  v1::SetWatchpoint message;
  message.set_id(1);
  message.mutable_condition()->set_id("nan");
  message.mutable_selection()->add_dtypes(v1::DTYPE_FLOAT16);
  message.set_enabled(true);
  ASSERT_TRUE(watch_.Set(message).ok());
  const uint32_t node = Declare("forward/log");
  EXPECT_THAT(Execute(node, {}, {kNan}).hits, IsEmpty());
  message.mutable_selection()->add_dtypes(v1::DTYPE_FLOAT32);
  ASSERT_TRUE(watch_.Set(message).ok());
  EXPECT_EQ(Execute(node, {}, {kNan}).hits.size(), 1u);
}

TEST_F(CheckerTest, AnExecutionIsReportedWithoutReadingATensor) {
  const uint32_t node = Declare("forward/log");
  Watch(1, "executed");
  // There is no memory to read.
  const int64_t size = 4;
  graphdbg_tensor output = {};
  output.struct_size = sizeof(output);
  output.dtype = GRAPHDBG_FLOAT32;
  output.ndim = 1;
  output.shape = &size;
  graphdbg_execution raw = {};
  raw.struct_size = sizeof(raw);
  raw.node = node;
  raw.outputs = &output;
  raw.output_count = 1;
  const Execution execution = ExecutionOf(raw);
  Findings findings;
  const auto watch = watch_.snapshot();
  checker_.ReportExecution(*watch, execution, {2, 7}, &findings);
  checker_.CheckExecution(*watch, execution, /*previous=*/nullptr,
                          /*seen=*/nullptr, {2, 7}, &findings);
  ASSERT_EQ(findings.hits.size(), 1u);
  const v1::Hit& hit = findings.hits[0];
  EXPECT_EQ(hit.step(), 2u);
  EXPECT_EQ(hit.order(), 7u);
  EXPECT_EQ(hit.type().shape(0), 4);
  EXPECT_FALSE(hit.has_statistics());
  EXPECT_THAT(findings.stop_here, ElementsAre(1));
}

}  // namespace
}  // namespace graphdbg::agent
