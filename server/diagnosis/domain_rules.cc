#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/diagnosis/numbers.h"
#include "server/diagnosis/rules.h"

namespace graphdbg::diagnosis {
namespace {

// A cause that shows in the values of an input.
Cause ByInput(const Facts& facts, size_t input, std::string rule,
              std::string title, std::string text) {
  Cause cause{std::move(rule), std::move(title), std::move(text), {}, {}};
  cause.evidence.push_back(ShowCells(facts));
  AddInput(facts, input, cause);
  return cause;
}

bool IsLog(const Facts& facts) {
  return IsOneOf(facts.node.op, {"log", "log2", "log10"});
}

// "3 of 40 values" with "are" or "is".
std::string Part(uint64_t part, uint64_t whole) {
  return absl::StrCat(Of(part, whole), part == 1 ? " is" : " are");
}

Found LogOfZero(const Facts& facts) {
  const auto x = InputOf(facts, 0);
  if (!IsLog(facts) || !x || x->zero_count == 0) return std::nullopt;
  const std::string& producer = x->input->producer.op;
  const std::string& op = facts.node.op;
  const bool probabilities = IsOneOf(producer, {"softmax", "sigmoid"});
  Cause cause = ByInput(
      facts, 0, "log_of_zero",
      probabilities ? absl::StrCat("Logarithm of a ", producer, " that is zero")
                    : "Logarithm of zero",
      absl::StrCat("In the input, ", Part(x->zero_count, x->count), " 0, and ",
                   op, "(0) is -Inf."));
  if (producer == "softmax") {
    absl::StrAppend(&cause.text,
                    " The softmax before it has rounded small "
                    "probabilities to 0.");
    cause.next = {"Replace log(softmax(x)) by log_softmax(x)."};
    const std::vector<int64_t>& shape = x->input->type.shape;
    if (IsOverRows(x->input->producer, shape)) {
      absl::StrAppend(&cause.text, " It is over dimension 0 of [", shape[0],
                      ", ", shape[1], "], so that the rows compete.");
      cause.next.push_back(
          "If each row is a sample, normalize over dim=1 (or -1).");
    }
  } else if (producer == "sigmoid") {
    absl::StrAppend(&cause.text,
                    " The sigmoid before it has rounded to exactly 0.");
    cause.next = {
        "Replace log(sigmoid(x)) by logsigmoid(x), or use a loss "
        "that takes logits."};
  } else {
    cause.next = {"Clamp the input from below: log(x.clamp(min=1e-12))."};
  }
  return cause;
}

Found LogOfNegative(const Facts& facts) {
  const auto x = InputOf(facts, 0);
  const double border = facts.node.op == "log1p" ? -1 : 0;
  const bool is_log = IsLog(facts) || facts.node.op == "log1p";
  if (!is_log || !x || x->min >= border) return std::nullopt;
  Cause cause = ByInput(
      facts, 0, "log_of_negative", "Logarithm of a negative number",
      absl::StrCat("The input reaches down to ", Number(x->min), "; ",
                   facts.node.op, " is NaN below ", Number(border), "."));
  cause.next = {
      "Find out where negative values come from; clamp the input if "
      "only rounding makes them negative."};
  return cause;
}

Found LogAtItsBorder(const Facts& facts) {
  const auto x = InputOf(facts, 0);
  if (facts.node.op != "log1p" || !x || x->min != -1) return std::nullopt;
  return ByInput(facts, 0, "log_of_zero", "Logarithm of zero",
                 "The input contains -1, and log1p(-1) is -Inf.");
}

Found DivisionByZero(const Facts& facts) {
  if (!IsOneOf(facts.node.op, {"div", "divide", "true_divide", "realdiv",
                               "floordiv", "remainder", "fmod"})) {
    return std::nullopt;
  }
  const auto divisor = RightOf(facts);
  if (!divisor || divisor->zero_count == 0) return std::nullopt;
  const auto dividend = LeftOf(facts);
  const bool both = dividend && dividend->zero_count > 0 &&
                    facts.hit.statistics.nan_count > 0;
  std::string text =
      divisor->input == nullptr
          ? "The divisor is the number 0"
          : absl::StrCat("In the divisor, ",
                         Part(divisor->zero_count, divisor->count), " 0");
  absl::StrAppend(&text, both ? ", and so is the dividend: 0/0 is NaN."
                              : ", and x/0 is infinite.");
  Cause cause = ByInput(facts, divisor->index, "division_by_zero",
                        both ? "Zero divided by zero" : "Division by zero",
                        std::move(text));
  const std::string producer =
      divisor->input == nullptr ? "" : divisor->input->producer.op;
  if (IsOneOf(producer, {"std", "var", "std_mean", "var_mean"})) {
    cause.title = "Division by a standard deviation of zero";
    cause.next = {"Add an epsilon to the divisor: x / (x.std() + 1e-6)."};
  } else if (IsOneOf(producer, {"sum", "mean", "count_nonzero"})) {
    cause.next = {"Clamp the count or the sum from below before dividing."};
  } else if (IsOneOf(producer, {"sqrt", "norm", "linalg_vector_norm"})) {
    cause.next = {"Add an epsilon under the root, not to its result."};
  } else {
    cause.next = {
        "Add an epsilon to the divisor, or mask the elements where it is 0."};
  }
  return cause;
}

// The derivative of a root, a norm or an inverse function where it is infinite.
// PyTorch computes it with ops such as div, which belong to the forward op.
Found DerivativeAtBorder(const Facts& facts) {
  const std::string& forward = facts.forward.op;
  if (facts.node.category != model::Category::kGradient) return std::nullopt;
  if (IsOneOf(forward, {"sqrt", "norm", "linalg_vector_norm", "std", "var",
                        "dist", "cdist_forward", "pow"})) {
    const bool divides = IsOneOf(facts.node.op, {"div", "reciprocal"});
    const auto divisor =
        facts.node.op == "div" ? RightOf(facts) : InputOf(facts, 0);
    if (!divides || !divisor || divisor->zero_count == 0) return std::nullopt;
    Cause cause = ByInput(
        facts, divisor->index,
        forward == "sqrt" ? "sqrt_gradient_at_zero" : "norm_gradient_at_zero",
        absl::StrCat("Gradient of ", forward, " at zero"),
        absl::StrCat("In the divisor of the derivative, ",
                     Part(divisor->zero_count, divisor->count),
                     " 0: the derivative of ", forward,
                     " is infinite at 0. The forward pass was finite."));
    cause.next = {"Add a small epsilon under the root: (x * x + eps).sqrt()."};
    return cause;
  }
  const bool inverse = IsOneOf(forward, {"acos", "asin", "acosh", "atanh"});
  const bool root = IsOneOf(facts.node.op, {"rsqrt", "reciprocal", "div"});
  const auto x = facts.node.op == "div" ? RightOf(facts) : InputOf(facts, 0);
  if (!inverse || !root || !x || x->zero_count == 0) return std::nullopt;
  Cause cause = ByInput(
      facts, x->index, "inverse_gradient_at_border",
      absl::StrCat("Gradient of ", forward, " at the border of its domain"),
      absl::StrCat("The derivative of ", forward,
                   " is infinite at the border of its domain, where ",
                   Of(x->zero_count, x->count),
                   x->zero_count == 1 ? " lies." : " lie."));
  cause.next = {
      "Clamp the argument to the inside of the domain: "
      "x.clamp(-1 + 1e-6, 1 - 1e-6)."};
  return cause;
}

Found RootOfNegative(const Facts& facts) {
  const auto x = InputOf(facts, 0);
  if (!IsOneOf(facts.node.op, {"sqrt", "rsqrt"}) || !x || x->min >= 0) {
    return std::nullopt;
  }
  Cause cause =
      ByInput(facts, 0, "sqrt_of_negative", "Square root of a negative number",
              absl::StrCat("The input reaches down to ", Number(x->min),
                           ", and the root of a negative number is NaN."));
  if (x->min > -1e-3) {
    absl::StrAppend(&cause.text, " So close to 0, rounding may have made it.");
  }
  cause.next = {"Clamp the input: x.clamp(min=0).sqrt()."};
  return cause;
}

Found ReciprocalOfZero(const Facts& facts) {
  const auto x = InputOf(facts, 0);
  if (!IsOneOf(facts.node.op, {"rsqrt", "reciprocal"}) || !x ||
      x->zero_count == 0) {
    return std::nullopt;
  }
  return ByInput(facts, 0, "reciprocal_of_zero", "Reciprocal of zero",
                 absl::StrCat("In the input, ", Part(x->zero_count, x->count),
                              " 0, and ", facts.node.op, "(0) is infinite."));
}

Found PowerOutsideDomain(const Facts& facts) {
  if (facts.node.op != "pow") return std::nullopt;
  const auto base = LeftOf(facts);
  const auto exponent = RightOf(facts);
  if (!base || !exponent) return std::nullopt;
  const bool one_exponent = exponent->min == exponent->max;
  const bool whole = one_exponent && std::floor(exponent->min) == exponent->min;
  if (base->min < 0 && !whole && facts.hit.statistics.nan_count > 0) {
    return ByInput(
        facts, base->index, "pow_of_negative",
        "Negative number to a fractional power",
        absl::StrCat("The base reaches down to ", Number(base->min),
                     one_exponent
                         ? absl::StrCat(", and the exponent is ",
                                        Number(exponent->min), ": NaN.")
                         : ", and exponents are no whole numbers: NaN."));
  }
  if (base->zero_count > 0 && exponent->min < 0) {
    return ByInput(
        facts, base->index, "pow_of_zero", "Zero to a negative power",
        absl::StrCat("In the base, ", Part(base->zero_count, base->count),
                     " 0, and 0 to the power of ", Number(exponent->min),
                     " is infinite."));
  }
  return std::nullopt;
}

// The range in which a function is defined.
struct Domain {
  absl::string_view op;
  double low;
  double high;
};

constexpr Domain kDomains[] = {{"acos", -1, 1},
                               {"asin", -1, 1},
                               {"atanh", -1, 1},
                               {"erfinv", -1, 1},
                               {"logit", 0, 1},
                               {"acosh", 1, HUGE_VAL},
                               {"binary_cross_entropy", 0, 1}};

Found OutsideDomain(const Facts& facts) {
  const auto x = InputOf(facts, 0);
  if (!x) return std::nullopt;
  for (const auto& [op, low, high] : kDomains) {
    if (op != facts.node.op || (x->min >= low && x->max <= high)) continue;
    const std::string domain =
        high == HUGE_VAL
            ? absl::StrCat("from ", Number(low), " upwards")
            : absl::StrCat("from ", Number(low), " to ", Number(high));
    Cause cause = ByInput(
        facts, 0, "outside_domain",
        absl::StrCat("Argument outside of the domain of ", op),
        absl::StrCat("The input is between ", Number(x->min), " and ",
                     Number(x->max), "; ", op, " is defined ", domain, "."));
    cause.next = {op == "binary_cross_entropy"
                      ? "Use binary_cross_entropy_with_logits, or apply a "
                        "sigmoid first."
                      : "Clamp the argument to the inside of the domain."};
    return cause;
  }
  return std::nullopt;
}

}  // namespace

const std::vector<Rule>& DomainRules() {
  static const auto* const rules = new std::vector<Rule>{
      LogOfNegative,      LogOfZero,          LogAtItsBorder,
      DerivativeAtBorder, DivisionByZero,     RootOfNegative,
      ReciprocalOfZero,   PowerOutsideDomain, OutsideDomain};
  return *rules;
}

}  // namespace graphdbg::diagnosis
