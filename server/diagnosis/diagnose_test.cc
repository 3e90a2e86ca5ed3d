#include "server/diagnosis/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace graphdbg::diagnosis {
namespace {

using model::NodeKind;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The statistics of these values.
model::Statistics Measured(const std::vector<double>& values) {
  model::Statistics s;
  s.count = values.size();
  double sum = 0, sizes = 0;
  uint64_t finite = 0;
  for (const double x : values) {
    s.nan_count += std::isnan(x);
    s.pos_inf_count += x == HUGE_VAL;
    s.neg_inf_count += x == -HUGE_VAL;
    s.zero_count += x == 0;
    if (!std::isfinite(x)) continue;
    ++finite;
    sum += x;
    sizes += std::abs(x);
    s.min = std::min(s.min.value_or(x), x);
    s.max = std::max(s.max.value_or(x), x);
    s.abs_max = std::max(s.abs_max.value_or(0), std::abs(x));
  }
  if (finite == 0) return s;
  s.mean = sum / static_cast<double>(finite);
  s.abs_mean = sizes / static_cast<double>(finite);
  s.l1 = sizes;
  return s;
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = HUGE_VAL;

// A hit with what its op has read.
class Case {
 public:
  explicit Case(const std::string& op,
                const std::string& condition = "overflow") {
    facts_.node.name = "forward/layers/1/attn/" + op;
    facts_.node.op = op;
    facts_.node.category = model::Category::kActivation;
    facts_.hit.id = 7;
    facts_.hit.node = facts_.node.name;
    facts_.hit.op_type = "aten::" + op;
    facts_.hit.step = 4;
    facts_.hit.origin = model::Origin::kOrigin;
    facts_.hit.type = {DType::kFloat32, {2, 2}};
    facts_.hit.condition =
        std::make_shared<model::Condition>(model::Condition{condition});
  }

  Case& Reads(const std::vector<double>& values, const std::string& op = "mm",
              NodeKind kind = NodeKind::kOp) {
    InputFacts input;
    input.producer = {"forward/" + op, op, kind, {}, facts_.node.category};
    input.type = {facts_.hit.type.dtype, {static_cast<int64_t>(values.size())}};
    input.statistics = Measured(values);
    facts_.inputs.push_back(std::move(input));
    return *this;
  }
  Case& ReadsShape(std::vector<int64_t> shape) {
    facts_.inputs.back().type.shape = std::move(shape);
    return *this;
  }
  Case& ReadsType(DType dtype) {
    facts_.inputs.back().type.dtype = dtype;
    return *this;
  }
  Case& Makes(const std::vector<double>& values,
              DType dtype = DType::kFloat32) {
    facts_.hit.statistics = Measured(values);
    facts_.hit.type.dtype = dtype;
    for (InputFacts& input : facts_.inputs) input.type.dtype = dtype;
    return *this;
  }
  Case& Shape(std::vector<int64_t> shape) {
    facts_.hit.type.shape = std::move(shape);
    return *this;
  }
  Case& With(const std::string& argument, const std::string& value) {
    facts_.node.attributes[argument] = value;
    return *this;
  }
  Case& GradientOf(const std::string& forward) {
    facts_.node.category = model::Category::kGradient;
    facts_.forward = {"forward/" + forward, forward, NodeKind::kOp, {}, {}};
    return *this;
  }
  Case& Is(NodeKind kind) {
    facts_.node.kind = kind;
    return *this;
  }
  Case& ReadBy(NodeFacts reader) {
    facts_.readers.push_back(std::move(reader));
    return *this;
  }
  Facts& facts() { return facts_; }

  model::Diagnosis Diagnose() const { return diagnosis::Diagnose(facts_); }

 private:
  Facts facts_;
};

void Expect(const Case& found, const std::string& rule,
            const std::string& title, const std::string& text) {
  const model::Diagnosis diagnosis = found.Diagnose();
  EXPECT_EQ(diagnosis.rule, rule);
  EXPECT_EQ(diagnosis.title, title);
  EXPECT_THAT(diagnosis.text, HasSubstr(text));
  EXPECT_EQ(diagnosis.hit, 7u);
  EXPECT_THAT(diagnosis.next, Not(IsEmpty()));
}

TEST(DiagnoseTest, WithoutARuleThereIsAdviceOnly) {
  const auto diagnosis =
      Case("custom").Reads({1, 2}).Makes({kNan, 1}).Diagnose();
  EXPECT_EQ(diagnosis.rule, "");
  EXPECT_EQ(diagnosis.title, "");
  EXPECT_THAT(diagnosis.evidence, IsEmpty());
  EXPECT_THAT(diagnosis.next, Not(IsEmpty()));
  // Inputs that were not measured explain nothing.
  EXPECT_EQ(Case("log").Makes({-kInf}).Diagnose().rule, "");
  EXPECT_EQ(Case("log").Reads({1, 2}).Makes({kNan}).Diagnose().rule, "");
}

TEST(DiagnoseTest, AdviceOfTheOpFollowsThatOfTheRuleWithoutRepeats) {
  const auto diagnosis = Case("log").Reads({0, 1}).Makes({-kInf, 0}).Diagnose();
  EXPECT_THAT(diagnosis.next[0], HasSubstr("clamp(min=1e-12)"));
  EXPECT_THAT(diagnosis.next[1], HasSubstr("log_softmax"));
  EXPECT_THAT(diagnosis.causes[0], HasSubstr("logarithm of zero"));
}

TEST(DiagnoseTest, EvidenceIsLinked) {
  Case log("log");
  log.Reads({0, 1}).Makes({-kInf, 0});
  log.facts().hit.rank = 3;
  const auto evidence = log.Diagnose().evidence;
  ASSERT_EQ(evidence.size(), 3u);
  EXPECT_EQ(evidence[0].label, "Show 1 cell");
  EXPECT_EQ(evidence[0].view, model::EvidenceView::kCells);
  EXPECT_EQ(evidence[0].node, "forward/layers/1/attn/log");
  EXPECT_EQ(evidence[0].step, 4u);
  EXPECT_EQ(evidence[0].rank, 3u);
  EXPECT_EQ(evidence[1].node, "forward/mm");
  EXPECT_EQ(evidence[2].view, model::EvidenceView::kHistory);
}

TEST(DiagnoseTest, Domains) {
  Expect(Case("log").Reads({0, 0, 1, 2}, "softmax").Makes({-kInf, -kInf, 0, 1}),
         "log_of_zero", "Logarithm of a softmax that is zero",
         "2 of 4 values are 0, and log(0) is -Inf. The softmax before it");
  Expect(Case("log").Reads({0, 1}, "sigmoid").Makes({-kInf, 0}), "log_of_zero",
         "Logarithm of a sigmoid that is zero", "rounded to exactly 0");
  Expect(Case("log2").Reads({-2.5, 1}).Makes({kNan, 0}), "log_of_negative",
         "Logarithm of a negative number", "reaches down to -2.5; log2 is NaN");
  Expect(Case("log1p").Reads({-1, 1}).Makes({-kInf, 0}), "log_of_zero",
         "Logarithm of zero", "log1p(-1)");
  Expect(Case("div").Reads({1, 2}).Reads({0, 4}, "sub").Makes({kInf, 0.5}),
         "division_by_zero", "Division by zero",
         "In the divisor, 1 of 2 values is 0");
  Expect(Case("div").Reads({0, 2}).Reads({0, 4}).Makes({kNan, 0.5}),
         "division_by_zero", "Zero divided by zero", "0/0 is NaN");
  Expect(Case("div").Reads({1, 2}).With("other", "0").Makes({kInf, kInf}),
         "division_by_zero", "Division by zero", "The divisor is the number 0");
  Expect(Case("div").Reads({1, 2}).Reads({0}, "std").Makes({kInf, kInf}),
         "division_by_zero", "Division by a standard deviation of zero", "");
  Expect(Case("sqrt").Reads({-1e-6, 1}).Makes({kNan, 1}), "sqrt_of_negative",
         "Square root of a negative number", "-1e-6, and the root");
  Expect(Case("rsqrt").Reads({0, 1}).Makes({kInf, 1}), "reciprocal_of_zero",
         "Reciprocal of zero", "rsqrt(0) is infinite");
  Expect(Case("pow").Reads({-8, 8}).With("exponent", "0.5").Makes({kNan, 2}),
         "pow_of_negative", "Negative number to a fractional power",
         "reaches down to -8, and the exponent is 0.5");
  Expect(Case("pow").Reads({0, 8}).With("exponent", "-1").Makes({kInf, 2}),
         "pow_of_zero", "Zero to a negative power", "the power of -1");
  Expect(Case("acos").Reads({0, 1.25}).Makes({1.57, kNan}), "outside_domain",
         "Argument outside of the domain of acos",
         "between 0 and 1.25; acos is defined from -1 to 1");
  Expect(Case("acosh").Reads({0.5}).Makes({kNan}), "outside_domain",
         "Argument outside of the domain of acosh", "from 1 upwards");
  Expect(Case("binary_cross_entropy").Reads({-0.5, 1.5}).Makes({kNan}),
         "outside_domain",
         "Argument outside of the domain of binary_cross_entropy",
         "between -0.5 and 1.5");
}

TEST(DiagnoseTest, Derivatives) {
  Expect(Case("div").GradientOf("sqrt").Reads({0, 1}).Reads({0, 4}).Makes(
             {kNan, 0.25}),
         "sqrt_gradient_at_zero", "Gradient of sqrt at zero",
         "1 of 2 values is 0: the derivative of sqrt is infinite at 0");
  Expect(Case("div")
             .GradientOf("linalg_vector_norm")
             .Reads({1})
             .Reads({0})
             .Makes({kInf}),
         "norm_gradient_at_zero", "Gradient of linalg_vector_norm at zero",
         "the only value is 0");
  Expect(Case("rsqrt").GradientOf("acos").Reads({0, 1}).Makes({kInf, 1}),
         "inverse_gradient_at_border",
         "Gradient of acos at the border of its domain", "1 of 2 values lies");
}

TEST(DiagnoseTest, ValuesThatWereBadBefore) {
  Expect(Case("mm").Reads({1, kNan, 2}, "x", NodeKind::kInput).Makes({kNan}),
         "bad_input", "NaN in the input data",
         "In forward/x, 1 of 3 values is NaN");
  Expect(Case("x").Is(NodeKind::kInput).Makes({1, kInf}), "bad_input",
         "Inf in the input data", "1 of 2 values is Inf");
  Case made("x");
  made.Is(NodeKind::kInput).Reads({1, kInf}).Makes({1, kInf});
  EXPECT_NE(made.Diagnose().rule, "bad_input") << "an op has made it";
  Expect(Case("lift_fresh").Makes({1, kInf}), "bad_input",
         "Inf in the input data", "1 of 2 values is Inf");
  EXPECT_EQ(Case("view").Reads({kInf}).Makes({kInf}).Diagnose().rule, "");
  Case moved("to_copy");
  moved.Reads({kInf}).Makes({kInf}).facts().inputs[0].producer = {};
  Expect(moved, "bad_input", "Inf in the input data", "the only value is Inf");
  moved.facts().inputs[0].statistics = Measured({70'000});
  EXPECT_NE(moved.Diagnose().rule, "bad_input") << "the op overflows";
  Case kept("weight");
  kept.Is(NodeKind::kParameter).Makes({kNan, 1});
  kept.facts().hit.step = 1;
  Expect(kept, "parameter_not_finite", "Weight contains NaN",
         "At the end of step 1, 1 of 2 values is NaN");
  kept.facts().hit.step = 0;
  Expect(kept, "parameter_not_finite", "Weight already contains NaN",
         "1 of 2 values is NaN before the first update");
  Case weight("mm");
  weight.Reads({kNan, kNan}, "weight", NodeKind::kParameter).Makes({kNan});
  Expect(weight, "parameter_not_finite", "Weight already contains NaN",
         "all 2 values are NaN: an update in an earlier step");
  weight.facts().hit.step = 1;
  Expect(weight, "parameter_not_finite", "Weight already contains NaN",
         "before the first update: the initialization or the checkpoint");
  Expect(Case("add").Reads({kInf, 1}).Reads({-kInf, 1}).Makes({kNan, 2}),
         "inf_minus_inf", "Infinity minus infinity", "(1 and 1)");
  Expect(Case("mul").Reads({kInf, 1}).Reads({0, 1}).Makes({kNan, 1}),
         "inf_times_zero", "Infinity times zero",
         "One input has one infinity, the other 1 zero");
  Case received("allreduce");
  received.Makes({kNan});
  received.facts().hit.sent_by =
      model::Sender{1, "forward/log", 0, "backward/allreduce", nullptr};
  Expect(received, "received", "NaN received from rank 1",
         "through backward/allreduce. There, forward/log was the first op");
  EXPECT_EQ(received.Diagnose().evidence[0].rank, 1u);
}

TEST(DiagnoseTest, Reductions) {
  Expect(Case("softmax")
             .Reads({1, -kInf, -kInf, -kInf})
             .With("dim", "-1")
             .Makes({1, 0, kNan, kNan})
             .Shape({2, 2}),
         "masked_row", "Every element of a row is masked",
         "In 1 row all 2 scores are -Inf");
  Expect(Case("softmax").Reads({1, kInf}).Makes({kNan, kNan}).Shape({2}),
         "softmax_of_inf", "Softmax of infinity", "1 of 2 values is Inf");
  Expect(Case("nll_loss_forward")
             .Reads({1, 2})
             .Reads({-100, -100})
             .With("ignore_index", "-100")
             .Makes({kNan}),
         "labels_ignored", "All labels are ignored", "All 2 labels are -100");
  Expect(Case("mean").Reads({}).Makes({kNan}), "mean_of_nothing",
         "Mean of an empty tensor", "has no elements");
  Expect(Case("std").Reads({3}).Makes({kNan}), "deviation_of_one",
         "Standard deviation of a single value", "n - 1 = 0");
  Expect(Case("layer_norm").Reads({3, 3, 3}).With("eps", "0").Makes({kNan}),
         "normalization_without_epsilon", "Normalization of constant values",
         "All 3 inputs are 3: their variance is 0, and eps is 0");
}

TEST(DiagnoseTest, SoftmaxOverTheRowsOfABatch) {
  Case batch("softmax", "expression");
  batch.Reads({1, 2, 3, 4, 5, 6}, "addmm")
      .With("dim", "0")
      .Makes({0.1, 0.2, 0.3, 0.2, 0.1, 0.1})
      .Shape({3, 2});
  Expect(batch, "softmax_over_batch", "Softmax over the batch",
         "over dimension 0 of [3, 2]. The 3 rows come from addmm");
  EXPECT_NE(Case(batch).With("dim", "1").Diagnose().rule, "softmax_over_batch");
  // Rows that may be anything.
  batch.facts().inputs[0].producer.op = "view";
  EXPECT_NE(batch.Diagnose().rule, "softmax_over_batch");
  Case log("log");
  log.Reads({0, 1, 1, 0}, "softmax").ReadsShape({2, 2}).Makes({-kInf, 0, 0});
  log.facts().inputs[0].producer.attributes = {{"dim", "-2"}};
  Expect(log, "log_of_zero", "Logarithm of a softmax that is zero",
         "It is over dimension 0 of [2, 2], so that the rows compete.");
  EXPECT_THAT(log.Diagnose().next[1], HasSubstr("dim=1"));
}

TEST(DiagnoseTest, AnOpThatRunsOnItsOwnResults) {
  Case state("mm");
  state.Reads({1e30, 1}).Reads({1e10, 2}).Makes({kInf, 1}).Shape({1, 2});
  state.facts().earlier_runs = 2;
  EXPECT_NE(state.Diagnose().rule, "repeated_product");
  state.facts().earlier_runs = 57;
  Expect(state, "repeated_product",
         "The value grows with each run of the same op",
         "Inputs reach 1e30. layers/1/attn has run this op 57 times before in "
         "this step");
  Expect(state.GradientOf("mm"), "repeated_product",
         "The gradient grows with each run of the same op", "57 times before");
  state.facts().node.name = "backward/mm_57";
  Expect(state, "repeated_product",
         "The gradient grows with each run of the same op",
         ". The program has run this op 57 times");
  Case large("mm", "gradient_too_large");
  large.GradientOf("mm").Reads({5}).Makes({500}).facts().earlier_runs = 9;
  Expect(large, "exploding_gradient", "Exploding gradient",
         "has run this op 9 times before");
}

TEST(DiagnoseTest, Ranges) {
  constexpr DType kHalf = DType::kFloat16;
  Case product("mul");
  product.Reads({12'032, 3}).With("other", "8").Makes({kInf, 24}, kHalf);
  product.facts().sibling = "forward/layers/0/attn/mul";
  product.facts().sibling_layer = "0";
  Expect(product, "overflow", "Overflow in float16",
         "Input reaches 12,032; × 8 = 96,256 > 65,504.");
  EXPECT_EQ(product.Diagnose().evidence.back().label, "Same op in layer 0");
  Expect(Case("mul").Reads({400}).Reads({-300}).Makes({-kInf}, kHalf),
         "overflow", "Overflow in float16",
         "Inputs reach 400 and 300; their product can be 120,000 > 65,504");
  // A number that was another one when the node first ran explains nothing.
  Expect(Case("mul").Reads({12'032}).With("other", "2").Makes({kInf}, kHalf),
         "overflow", "Overflow in float16",
         "The inputs are finite and reach 12,032");
  Expect(Case("bmm")
             .Reads({50})
             .ReadsShape({1, 4, 64})
             .Reads({40})
             .ReadBy({"forward/softmax", "softmax", NodeKind::kOp, {}, {}})
             .Makes({kInf}, kHalf),
         "attention_overflow", "Attention scores overflow float16",
         "Queries and keys reach 50 and 40; sums of 64 products can be "
         "128,000 > 65,504");
  Case mm("mm");
  mm.Reads({50}).ReadsShape({4, 64}).Reads({40}).Makes({kInf}, kHalf);
  mm.facts().hit.node = "forward/fc/mm";
  Expect(mm, "overflow", "Overflow in float16", "Inputs reach 50 and 40");
  Expect(Case("sum").Reads({40'000, 30'000}).Makes({kInf}, kHalf), "overflow",
         "Overflow in float16",
         "mean size of 35,000 add up to 70,000 > 65,504");
  Expect(Case("add").Reads({40'000}).Reads({30'000}).Makes({kInf}, kHalf),
         "overflow", "Overflow in float16", "together that is 70,000 > 65,504");
  Expect(Case("to_copy")
             .Reads({70'000})
             .Makes({kInf}, kHalf)
             .ReadsType(DType::kFloat32),
         "cast_overflow", "Too large for float16",
         "is float32 and reaches 70,000 > 65,504");
  Expect(Case("exp").Reads({95, 1}).Makes({kInf, 3}), "exp_overflow",
         "Exponential overflows float32",
         "reaches 95; exp overflows float32 above 88.72");
  Expect(Case("pow").Reads({1e20}).With("exponent", "2").Makes({kInf}),
         "overflow", "Overflow in float32",
         "to the power of 2 it is 1e40 > 3.403e38");
  Expect(Case("div").Reads({1}).Reads({1e-39}).Makes({kInf}),
         "division_by_tiny", "Division by a tiny number", "as small as 1e-39");
  Case scaled("mul");
  scaled.GradientOf("mul").Reads({1e35}).With("other", "1e5").Makes({kInf});
  scaled.facts().hit.actual["grad_scale"] = 65'536;
  Expect(scaled, "loss_scale", "The scaled loss overflows",
         "multiplied by 65,536, with which this gradient exceeds 3.403e38");
}

TEST(DiagnoseTest, Training) {
  Expect(Case("relu", "tensor_all_zero").Reads({-50.5, -49.5}).Makes({0, 0}),
         "dead_relu", "Dead ReLU", "All 2 inputs are between -50.5 and -49.5.");
  Expect(Case("threshold_backward", "tensor_all_zero")
             .GradientOf("relu")
             .Reads({0.5, 1})
             .Reads({0, 0})
             .Makes({0, 0}),
         "dead_relu_gradient", "A dead ReLU stops the gradient",
         "A gradient of up to 1 arrives, but all 2 outputs");
  Expect(Case("sigmoid", "activation_range").Reads({20, 60}).Makes({1, 1}),
         "saturated", "Saturated sigmoid", "are between 20 and 60, 40 from 0");
  Expect(Case("sigmoid", "activation_range").Makes({0.999, 1}), "saturated",
         "Saturated sigmoid", "All 2 outputs are between 0.999 and 1");
  EXPECT_EQ(Case("sigmoid", "activation_range").Makes({0, 1}).Diagnose().rule,
            "");
  Expect(Case("sigmoid_backward", "gradient_vanishing")
             .GradientOf("sigmoid")
             .Reads({1, 1})
             .Reads({0.999, 1})
             .Makes({1e-12, 0}),
         "saturated_gradient", "A saturated sigmoid stops the gradient",
         "All 2 of its outputs are between 0.999 and 1");
  Expect(Case("mm", "gradient_vanishing")
             .GradientOf("mm")
             .Reads({1e-9})
             .Makes({1e-12}),
         "vanishing_gradient", "Vanishing gradient",
         "is 1e-12. It arrives with 1e-9 and is made 1,000 times smaller here");
  Case transposed("t", "gradient_vanishing");
  transposed.Reads({1e-12}).GradientOf("mm").Makes({1e-12});
  EXPECT_EQ(transposed.Diagnose().rule, "") << "it is no gradient";
  Expect(
      Case("mm", "gradient_too_large")
          .GradientOf("mm")
          .Reads({10})
          .Makes({1e6}),
      "exploding_gradient", "Exploding gradient",
      "reaches 1,000,000. It arrives with 10 and is made 100,000 times larger");
  Expect(Case("mul", "tensor_all_zero")
             .GradientOf("mul")
             .Reads({0, 0})
             .Makes({0, 0}),
         "zero_gradient", "The gradient is zero before this op",
         "All 2 values");
  Expect(Case("weight", "weight_not_changed")
             .Is(NodeKind::kParameter)
             .With("requires_grad", "False")
             .Makes({1}),
         "frozen", "Frozen parameter", "requires_grad is False");
  Case lost("weight", "expression");
  lost.Is(NodeKind::kParameter).Makes({1});
  lost.facts().hit.actual["change_ratio"] = 2e-8;
  Expect(lost, "lost_update", "A weight that hardly changes",
         "by 2e-8 of its size on average");
  lost.With("requires_grad", "False");
  lost.facts().hit.actual["change_ratio"] = 0;
  Expect(lost, "frozen", "Frozen parameter", "requires_grad is False");
  // An expression of a user's own.
  lost.facts().hit.actual["change_ratio"] = 1e-3;
  EXPECT_EQ(lost.Diagnose().rule, "");
  Expect(Case("weight", "weight_not_changed")
             .Is(NodeKind::kParameter)
             .ReadBy({"optimizer/SGD/add_",
                      "add",
                      NodeKind::kOp,
                      {{"alpha", "-0"}},
                      {}})
             .Makes({1}),
         "rate_of_zero", "Learning rate of zero",
         "alpha of optimizer/SGD/add_");
  Expect(Case("weight", "weight_not_changed")
             .Is(NodeKind::kParameter)
             .ReadBy({"optimizer/Adam/addcdiv",
                      "foreach_addcdiv",
                      NodeKind::kOp,
                      {{"scalars", "[-0, -0]"}},
                      {}})
             .Makes({1}),
         "rate_of_zero", "Learning rate of zero", "scalars");
  Expect(Case("weight", "weight_not_changed")
             .Is(NodeKind::kParameter)
             .ReadBy({"forward/mm", "mm", NodeKind::kOp, {}, {}})
             .Makes({1}),
         "not_optimized", "No optimizer updates this parameter",
         "no op of an optimizer");
  Expect(Case("weight", "weight_initialization").Makes({0, 0}), "zero_weights",
         "Weights start at zero", "All 2 values are 0");
  Case update("weight", "weight_change_too_large");
  update.Makes({1});
  update.facts().hit.actual["abs_mean_update_ratio_gt"] = 3.5;
  Expect(update, "large_update", "Update too large for the weights",
         "by 350 %");
  Case reported("weight", "wrong_mode");
  reported.facts().hit.message = "the model is in evaluation mode";
  EXPECT_EQ(reported.Diagnose().rule, "wrong_mode");
  EXPECT_EQ(reported.Diagnose().text, "the model is in evaluation mode");
}

}  // namespace
}  // namespace graphdbg::diagnosis
