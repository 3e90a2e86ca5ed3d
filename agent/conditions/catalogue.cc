#include "agent/conditions/catalogue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "agent/conditions/training_conditions.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::conditions {
namespace {

constexpr char kFiniteOnly[] =
    "NaN and infinities are ignored. Tensors without finite elements never "
    "match.";
constexpr char kPercentageOfAll[] =
    "The percentage is that of all elements, including NaN and infinities. "
    "Empty tensors never match.";
constexpr char kFinitePairs[] =
    "Elements that are NaN or infinite now or in the previous step are "
    "ignored. Tensors without other elements never match.";

Parameter Number(absl::string_view name, absl::string_view title) {
  Parameter parameter;
  parameter.name = std::string(name);
  parameter.title = std::string(title);
  parameter.type = "number";
  return parameter;
}

Parameter Tested(absl::string_view name, absl::string_view title) {
  Parameter parameter = Number(name, title);
  parameter.tested = true;
  return parameter;
}

// A tested quantity that is never negative.
Parameter TestedSize(absl::string_view name, absl::string_view title) {
  Parameter parameter = Tested(name, title);
  parameter.min = 0;
  return parameter;
}

Parameter TestedPercentage(absl::string_view name, absl::string_view title,
                           std::optional<double> default_value = std::nullopt) {
  Parameter parameter = TestedSize(name, title);
  parameter.max = 100;
  parameter.unit = "percent";
  parameter.default_value = default_value;
  return parameter;
}

Parameter Default(Parameter parameter, double value) {
  parameter.default_value = value;
  return parameter;
}

Parameter Suggested(Parameter parameter, double value) {
  parameter.suggested = value;
  return parameter;
}

Parameter AboveZero(Parameter parameter) {
  parameter.min = 0;
  parameter.above_min = true;
  return parameter;
}

Parameter Advanced(absl::string_view name, absl::string_view title,
                   double default_value) {
  Parameter parameter = Default(Number(name, title), default_value);
  parameter.advanced = true;
  parameter.min = 0;
  return parameter;
}

Condition Row(const char* id, const char* title, const char* help,
              const char* target, std::vector<Parameter> params,
              const char* nan_policy, std::optional<int> wire_condition) {
  Condition condition;
  condition.id = id;
  condition.title = title;
  condition.help = help;
  condition.target = target;
  condition.params = std::move(params);
  condition.nan_policy = nan_policy;
  condition.wire_condition = wire_condition;
  return condition;
}

// NaN and infinities spread to all later ops. Hits that only pass them on are
// listed, and stop the job if `propagated` is "stop".
Condition NonFinite(const char* id, const char* title, const char* help,
                    const char* target, int wire_condition) {
  Parameter propagated;
  propagated.name = "propagated";
  propagated.title = "propagated values";
  propagated.type = "choice";
  propagated.choices = {"list", "stop"};
  propagated.advanced = true;
  return Row(id, title, help, target, {propagated},
             "Empty tensors never match.", wire_condition);
}

// Infinities that reach no result, like log(0) in a branch that
// torch.where discards, are only listed unless `absorbed` is "stop".
Condition WithAbsorbed(Condition condition) {
  Parameter absorbed;
  absorbed.name = "absorbed";
  absorbed.title = "infinities that reach no result";
  absorbed.type = "choice";
  absorbed.choices = {"list", "stop"};
  absorbed.advanced = true;
  condition.params.insert(condition.params.begin(), absorbed);
  return condition;
}

Condition Overflow(const char* id, const char* title, const char* target,
                   const char* help =
                       "At least one element is NaN or infinite. Deliberate "
                       "infinities (e.g. masks) are ignored.") {
  return WithAbsorbed(NonFinite(id, title, help, target, 13));
}

Condition TooLarge(const char* id, const char* title, const char* target) {
  return Row(id, title,
             "The mean absolute value, the maximum, the minimum or the mean is "
             "greater than its threshold.",
             target,
             {Suggested(TestedSize("abs_mean_gt", "mean |x|"), 1e3),
              Tested("max_gt", "max"), Tested("min_gt", "min"),
              Tested("mean_gt", "mean")},
             kFiniteOnly, 15);
}

Condition TooSmall(const char* id, const char* title, const char* target) {
  return Row(id, title,
             "The mean absolute value, the maximum, the minimum or the mean is "
             "less than its threshold.",
             target,
             {Suggested(TestedSize("abs_mean_lt", "mean |x|"), 1e-9),
              Tested("max_lt", "max"), Tested("min_lt", "min"),
              Tested("mean_lt", "mean")},
             kFiniteOnly, 16);
}

Condition Range(const char* id, const char* title, const char* target) {
  return Row(
      id, title,
      "The percentage of elements between range_start_inclusive and "
      "range_end_inclusive, or the difference between maximum and "
      "minimum, exceeds its threshold.",
      target,
      {Number("range_start_inclusive", "range start"),
       Number("range_end_inclusive", "range end"),
       TestedPercentage("range_percentage_lt", "percentage in range"),
       TestedPercentage("range_percentage_gt", "percentage in range"),
       AboveZero(Tested("max_min_lt", "max - min")),
       TestedSize("max_min_gt", "max - min")},
      "In the percentage, NaN and infinities count as outside the range. "
      "Maximum and minimum are those of the finite elements. Empty "
      "tensors never match.",
      21);
}

Condition NotChanged(const char* id, const char* title, const char* target) {
  Parameter equal_nan = Advanced("equal_nan", "NaN equals NaN", 0);
  equal_nan.type = "bool";
  equal_nan.max = 1;
  Parameter rtol = Default(Number("rtol", "relative tolerance"), 1e-5);
  rtol.min = 0;
  return Row(id, title,
             "Every element differs from its value in the previous step by at "
             "most atol + rtol * |previous value|.",
             target,
             {rtol, Advanced("atol", "absolute tolerance", 1e-8), equal_nan},
             "Infinities are unchanged if they are equal, NaN only with "
             "equal_nan. Empty tensors never match.",
             20);
}

Condition ChangeTooLarge() {
  return Row(
      "weight_change_too_large", "Weight change too large",
      "The mean absolute change since the previous step, relative to the mean "
      "absolute previous value, is greater than the threshold.",
      "weight",
      {Default(TestedSize("abs_mean_update_ratio_gt", "change / value"), 0.1),
       Advanced("epsilon", "epsilon", 1e-9)},
      kFinitePairs, 18);
}

Condition ChangeTooSmall() {
  return Row(
      "weight_change_too_small", "Weight change too small",
      "The mean absolute change since the previous step, relative to the mean "
      "absolute previous value, is less than the threshold.",
      "weight",
      {Default(TestedSize("abs_mean_update_ratio_lt", "change / value"), 1e-4),
       Advanced("epsilon", "epsilon", 1e-9)},
      kFinitePairs, 19);
}

Condition WeightInitialization() {
  Condition condition =
      Row("weight_initialization", "Bad weight initialization",
          "Before the first step, the percentage of zeros, the maximum or the "
          "minimum exceeds its threshold.",
          "weight",
          {TestedPercentage("zero_percentage_ge", "zeros", 100),
           Tested("max_gt", "max"), Tested("min_lt", "min")},
          "The percentage is that of all elements. Maximum and minimum are "
          "those of the finite elements. Empty tensors never match.",
          14);
  condition.before_first_step = true;
  return condition;
}

Condition OperatorOverflow() {
  Condition condition =
      Row("operator_overflow", "Device overflow flag",
          "The device raised its overflow flag since the flag was last "
          "read. To attribute it to one operator, watch the preceding "
          "one as well.",
          "tensor", {}, "Empty tensors never match.", 2);
  condition.backends = {"ascend"};
  return condition;
}

Condition CustomExpression() {
  Parameter expression;
  expression.name = "expression";
  expression.title = "expression";
  expression.type = "expression";
  expression.required = true;
  return Row(
      "expression", "Custom expression",
      "A custom expression is true, for example \"abs_max > 1e3 && step "
      "> 100\". It consists of statistics of the tensor, quantiles (p01, "
      "p05, p10, p25, p50, p75, p90, p95, p99), numbers, "
      "&& || ! < <= > >= == != + - * /, parentheses, and the functions "
      "abs, log10, sqrt, min and max.",
      "tensor", {expression},
      "Statistics are those of the finite elements. A statistic that "
      "does not exist is unknown, and so is a comparison with it; && "
      "and || are unknown if the other side does not decide. An unknown "
      "expression does not match.",
      std::nullopt);
}

// A comparison of one statistic with one value.
struct Compared {
  const char* name;
  bool never_negative;
  // The number of the condition "above"; that of "below" is the next one.
  std::optional<int> wire_condition;
};

constexpr Compared kCompared[] = {
    {"max", false, 3},
    {"min", false, 5},
    {"max_min", true, 7},
    {"mean", false, 9},
    {"sd", true, 11},
    {"abs_max", true, std::nullopt},
    {"abs_mean", true, std::nullopt},
};

Condition Comparison(const Compared& compared, bool greater) {
  const char* description = FindMeasure(compared.name)->description;
  const char* relation = greater ? "above" : "below";
  Parameter value = Number("value", "value");
  value.required = true;
  if (compared.never_negative) value.min = 0;
  Condition condition;
  condition.id = absl::StrCat(compared.name, greater ? "_gt" : "_lt");
  condition.title = absl::StrCat(description, " ", relation, " a value");
  condition.title[0] = static_cast<char>(condition.title[0] - 'a' + 'A');
  condition.help =
      absl::StrCat("The ", description, " of the tensor's finite elements is ",
                   relation, " the value.");
  condition.target = "tensor";
  condition.params = {value};
  condition.nan_policy = kFiniteOnly;
  if (compared.wire_condition) {
    condition.wire_condition = *compared.wire_condition + (greater ? 0 : 1);
  }
  return condition;
}

// Unlike those on NaN, infinities and the overflow flag, which one channel
// matches exactly if the whole tensor does.
bool ComparesStatistics(const Condition& condition) {
  for (const Parameter& parameter : condition.params) {
    if (parameter.type != "choice") return true;
  }
  return false;
}

// Has the condition test each slice along a dimension by itself, if it is
// given.
void AddAxis(Condition* condition) {
  Parameter axis = Number("axis", "for each channel along axis");
  axis.min = -static_cast<double>(kMaxDimensions);
  axis.max = static_cast<double>(kMaxDimensions - 1);
  axis.whole = true;
  axis.advanced = true;
  condition->params.push_back(std::move(axis));
}

std::vector<Condition> MakeCatalogue() {
  std::vector<Condition> rows = {
      NonFinite("nan", "NaN", "At least one element is NaN.", "tensor", 0),
      WithAbsorbed(NonFinite(
          "inf", "Infinity",
          "At least one element is infinite. Deliberate infinities, as in "
          "masked_fill(mask, -inf), are ignored.",
          "tensor", 1)),
      Overflow("overflow", "NaN or infinity", "tensor"),
      Overflow("tensor_overflow", "NaN or infinity", "tensor",
               "The same as \"overflow\", under MindSpore's name."),
      OperatorOverflow(),
      TooLarge("tensor_too_large", "Tensor too large", "tensor"),
      TooSmall("tensor_too_small", "Tensor too small", "tensor"),
      Row("tensor_all_zero", "All-zero tensor",
          "The percentage of zeros reaches the threshold.", "tensor",
          {TestedPercentage("zero_percentage_ge", "zeros", 100)},
          kPercentageOfAll, 17),
      Range("tensor_range", "Tensor out of range", "tensor"),
      Row("tensor_variance", "Tensor variance",
          "The variance is greater than or less than its threshold.", "tensor",
          {TestedSize("variance_gt", "variance"),
           AboveZero(Tested("variance_lt", "variance"))},
          kFiniteOnly, std::nullopt),
      NotChanged("tensor_not_changed", "Unchanged tensor", "tensor"),
      WeightInitialization(),
      Overflow("weight_overflow", "Weight overflow", "weight"),
      TooLarge("weight_too_large", "Weight too large", "weight"),
      TooSmall("weight_too_small", "Weight too small", "weight"),
      NotChanged("weight_not_changed", "Unchanged weight", "weight"),
      ChangeTooLarge(),
      ChangeTooSmall(),
      Overflow("gradient_exploding", "Exploding gradient", "gradient"),
      TooLarge("gradient_too_large", "Gradient too large", "gradient"),
      TooSmall("gradient_vanishing", "Vanishing gradient", "gradient"),
      Range("activation_range", "Activation out of range", "activation"),
      Row("activation_inactive", "Inactive activation",
          "The percentage of elements that are zero or negative reaches the "
          "threshold, as with a dead ReLU.",
          "activation",
          {TestedPercentage("inactive_percentage_ge", "zero or negative", 100)},
          kPercentageOfAll, std::nullopt),
  };
  rows.push_back(CustomExpression());
  rows.push_back(
      Row("executed", "Executed",
          "The op was executed. No tensor is read. With a line of source code "
          "in the selection it is a breakpoint on that line: the line is hit "
          "once each time it runs, however many ops it makes.",
          "op", {}, "Values are not read.", std::nullopt));
  for (const Compared& compared : kCompared) {
    rows.push_back(Comparison(compared, true));
    rows.push_back(Comparison(compared, false));
  }
  for (Condition& condition : rows) {
    if (ComparesStatistics(condition)) AddAxis(&condition);
  }
  for (Condition& condition : TrainingConditions()) {
    rows.push_back(std::move(condition));
  }
  return rows;
}

}  // namespace

const std::vector<Condition>& Catalogue() {
  static const auto* rows = new std::vector<Condition>(MakeCatalogue());
  return *rows;
}

const Condition* Find(absl::string_view id) {
  for (const Condition& condition : Catalogue()) {
    if (condition.id == id) return &condition;
  }
  return nullptr;
}

Target TargetOf(const Condition& condition) {
  if (condition.target == "weight") return {Category::kWeight};
  if (condition.target == "gradient") return {Category::kGradient};
  if (condition.target == "activation") return {Category::kActivation};
  return {std::nullopt, condition.target == "op"};
}

}  // namespace graphdbg::conditions
