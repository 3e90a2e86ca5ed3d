#include "agent/conditions/catalogue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace graphdbg::conditions {
namespace {

constexpr char kFiniteOnly[] =
    "NaN and infinities are left out; a tensor without finite elements does "
    "not meet it.";
constexpr char kShareOfAll[] =
    "NaN and infinities count as elements that are outside; an empty tensor "
    "does not meet it.";
constexpr char kFinitePairs[] =
    "Elements that are NaN or infinite now or were a step earlier are left "
    "out; where nothing is left, it is not met.";

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

// What is compared is never below zero.
Parameter TestedSize(absl::string_view name, absl::string_view title) {
  Parameter parameter = Tested(name, title);
  parameter.min = 0;
  return parameter;
}

Parameter TestedShare(absl::string_view name, absl::string_view title,
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

Condition NonFinite(const char* id, const char* title, const char* help,
                    const char* target, int wire_condition) {
  return Row(id, title, help, target, {}, "An empty tensor does not meet it.",
             wire_condition);
}

Condition Overflow(const char* id, const char* title, const char* target,
                   const char* help =
                       "At least one element is NaN or infinite. Infinities "
                       "that the program asked for by name are not reported.") {
  return NonFinite(id, title, help, target, 13);
}

Condition TooLarge(const char* id, const char* title, const char* target) {
  return Row(id, title,
             "The mean absolute value, the maximum, the minimum or the mean is "
             "above the value given for it.",
             target,
             {Suggested(TestedSize("abs_mean_gt", "mean |x|"), 1e3),
              Tested("max_gt", "max"), Tested("min_gt", "min"),
              Tested("mean_gt", "mean")},
             kFiniteOnly, 15);
}

Condition TooSmall(const char* id, const char* title, const char* target) {
  return Row(id, title,
             "The mean absolute value, the maximum, the minimum or the mean is "
             "below the value given for it.",
             target,
             {Suggested(TestedSize("abs_mean_lt", "mean |x|"), 1e-9),
              Tested("max_lt", "max"), Tested("min_lt", "min"),
              Tested("mean_lt", "mean")},
             kFiniteOnly, 16);
}

Condition Range(const char* id, const char* title, const char* target) {
  return Row(id, title,
             "The share of elements from range_start_inclusive to "
             "range_end_inclusive, or the difference of maximum and minimum, "
             "lies beyond the value given for it.",
             target,
             {Number("range_start_inclusive", "range from"),
              Number("range_end_inclusive", "range to"),
              TestedShare("range_percentage_lt", "share in range"),
              TestedShare("range_percentage_gt", "share in range"),
              AboveZero(Tested("max_min_lt", "max - min")),
              TestedSize("max_min_gt", "max - min")},
             "In the share, NaN and infinities count as outside; maximum and "
             "minimum are of the finite elements. An empty tensor does not "
             "meet it.",
             21);
}

Condition NotChanged(const char* id, const char* title, const char* target) {
  Parameter equal_nan = Advanced("equal_nan", "NaN equals NaN", 0);
  equal_nan.type = "bool";
  equal_nan.max = 1;
  Parameter rtol = Default(Number("rtol", "relative tolerance"), 1e-5);
  rtol.min = 0;
  return Row(id, title,
             "Every element is what it was a step earlier, but for at most "
             "atol + rtol * |old value|.",
             target,
             {rtol, Advanced("atol", "absolute tolerance", 1e-8), equal_nan},
             "Infinities are unchanged if they are the same, NaN only with "
             "equal_nan; an empty tensor does not meet it.",
             20);
}

Condition ChangeTooLarge() {
  return Row(
      "weight_change_too_large", "Weight changes too much",
      "The mean absolute change since the previous step, over the mean "
      "absolute value that it had then, is above the value.",
      "weight",
      {Default(TestedSize("abs_mean_update_ratio_gt", "change / value"), 0.1),
       Advanced("epsilon", "epsilon", 1e-9)},
      kFinitePairs, 18);
}

Condition ChangeTooSmall() {
  return Row(
      "weight_change_too_small", "Weight changes too little",
      "The mean absolute change since the previous step, over the mean "
      "absolute value that it had then, is below the value.",
      "weight",
      {Default(TestedSize("abs_mean_update_ratio_lt", "change / value"), 1e-4),
       Advanced("epsilon", "epsilon", 1e-9)},
      kFinitePairs, 19);
}

Condition WeightInitialization() {
  Condition condition =
      Row("weight_initialization", "Weight starts badly",
          "Before the first step, the share of zeros reaches a value, or the "
          "maximum or the minimum lies beyond the one given for it.",
          "weight",
          {TestedShare("zero_percentage_ge", "zeros", 100),
           Tested("max_gt", "max"), Tested("min_lt", "min")},
          "Shares are of all elements, maximum and minimum of the finite ones; "
          "an empty tensor does not meet it.",
          14);
  condition.before_first_step = true;
  return condition;
}

Condition OperatorOverflow() {
  Condition condition =
      NonFinite("operator_overflow", "Overflow flag of the device",
                "The device raised its overflow flag: of the operator, if the "
                "one before is watched as well.",
                "tensor", 2);
  condition.backends = {"ascend"};
  return condition;
}

Condition OwnExpression() {
  Parameter expression;
  expression.name = "expression";
  expression.title = "expression";
  expression.type = "expression";
  expression.required = true;
  return Row("expression", "Expression over statistics",
             "An expression of your own holds, as \"abs_max > 1e3 && step > "
             "100\": && || ! < <= > >= == != + - * / parentheses, abs, log10, "
             "sqrt, min and max, over the statistics of a tensor.",
             "tensor", {expression},
             "Statistics are of the finite elements. One that does not exist "
             "is unknown, as is a comparison with it; && and || are unknown if "
             "the other side does not decide. It is met if it is true.",
             std::nullopt);
}

// A comparison of one statistic with one value.
struct Compared {
  const char* name;
  bool never_negative;
  // Of the condition "above"; the one of "below" follows.
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
  const char* words = FindMeasure(compared.name)->words;
  const char* relation = greater ? "above" : "below";
  Parameter value = Number("value", "value");
  value.required = true;
  if (compared.never_negative) value.min = 0;
  Condition condition;
  condition.id = absl::StrCat(compared.name, greater ? "_gt" : "_lt");
  condition.title = absl::StrCat(words, " ", relation, " a number");
  condition.title[0] = static_cast<char>(condition.title[0] - 'a' + 'A');
  condition.help =
      absl::StrCat("The ", words, " of the tensor's finite elements is ",
                   relation, " the value.");
  condition.target = "tensor";
  condition.params = {value};
  condition.nan_policy = kFiniteOnly;
  if (compared.wire_condition) {
    condition.wire_condition = *compared.wire_condition + (greater ? 0 : 1);
  }
  return condition;
}

std::vector<Condition> MakeCatalogue() {
  std::vector<Condition> rows = {
      NonFinite("nan", "Not a number", "At least one element is NaN.", "tensor",
                0),
      NonFinite("inf", "Infinity",
                "At least one element is infinite. Infinities that the program "
                "asked for by name, as in masked_fill(mask, -inf), are not "
                "reported.",
                "tensor", 1),
      Overflow("overflow", "NaN or infinity", "tensor"),
      Overflow("tensor_overflow", "NaN or infinity", "tensor",
               "The same as \"overflow\", under MindSpore's name."),
      OperatorOverflow(),
      TooLarge("tensor_too_large", "Tensor too large", "tensor"),
      TooSmall("tensor_too_small", "Tensor too small", "tensor"),
      Row("tensor_all_zero", "Tensor all zero",
          "The share of elements that are zero reaches the value.", "tensor",
          {TestedShare("zero_percentage_ge", "zeros", 100)}, kShareOfAll, 17),
      Range("tensor_range", "Tensor out of range", "tensor"),
      Row("tensor_variance", "Variance of a tensor",
          "The variance is above or below the value given for it.", "tensor",
          {TestedSize("variance_gt", "variance"),
           AboveZero(Tested("variance_lt", "variance"))},
          kFiniteOnly, std::nullopt),
      NotChanged("tensor_not_changed", "Tensor does not change", "tensor"),
      WeightInitialization(),
      Overflow("weight_overflow", "Weight overflows", "weight"),
      TooLarge("weight_too_large", "Weight too large", "weight"),
      TooSmall("weight_too_small", "Weight too small", "weight"),
      NotChanged("weight_not_changed", "Weight does not change", "weight"),
      ChangeTooLarge(),
      ChangeTooSmall(),
      Overflow("gradient_exploding", "Gradient explodes", "gradient"),
      TooLarge("gradient_too_large", "Gradient too large", "gradient"),
      TooSmall("gradient_vanishing", "Gradient vanishes", "gradient"),
      Range("activation_range", "Activation out of range", "activation"),
      Row("activation_inactive", "Activation inactive",
          "The share of elements that are zero or below reaches the value: "
          "dead ReLUs.",
          "activation",
          {TestedShare("inactive_percentage_ge", "zero or below", 100)},
          kShareOfAll, std::nullopt),
  };
  rows.push_back(OwnExpression());
  for (const Compared& compared : kCompared) {
    rows.push_back(Comparison(compared, true));
    rows.push_back(Comparison(compared, false));
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

std::optional<Category> TargetOf(const Condition& condition) {
  if (condition.target == "weight") return Category::kWeight;
  if (condition.target == "gradient") return Category::kGradient;
  if (condition.target == "activation") return Category::kActivation;
  return std::nullopt;
}

}  // namespace graphdbg::conditions
