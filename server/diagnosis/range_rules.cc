#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/diagnosis/numbers.h"
#include "server/diagnosis/rules.h"

namespace graphdbg::diagnosis {
namespace {

// An op with finite inputs has made infinities of a type with this limit.
struct Overflow {
  double limit = 0;
  std::string dtype;
};

std::optional<Overflow> OverflowOf(const Facts& facts) {
  const auto limit = Limit(facts.hit.type.dtype);
  if (!limit || InfCount(facts.hit.statistics) == 0 ||
      !InputsAreFinite(facts)) {
    return std::nullopt;
  }
  return Overflow{*limit, model::DTypeName(facts.hit.type)};
}

bool IsHalf(const Facts& facts) {
  return facts.hit.type.dtype == DType::kFloat16;
}

std::string Above(const Overflow& overflow) {
  return absl::StrCat(" > ", Number(overflow.limit));
}

Cause OverflowCause(const Facts& facts, const Overflow& overflow, size_t input,
                    std::string text) {
  Cause cause{"overflow",
              absl::StrCat("Overflow in ", overflow.dtype),
              std::move(text),
              {},
              {}};
  cause.evidence.push_back(ShowCells(facts));
  AddInput(facts, input, cause);
  AddSibling(facts, cause);
  cause.next = {IsHalf(facts)
                    ? "Compute it in bfloat16 or float32, or scale it down "
                      "before."
                    : "Find out why the values are so large: look at the "
                      "inputs over the steps."};
  return cause;
}

// A loss that GradScaler has multiplied makes gradients overflow by design.
Found LossScale(const Facts& facts) {
  const auto overflow = OverflowOf(facts);
  const auto scale = facts.hit.actual.find("grad_scale");
  if (!overflow || scale == facts.hit.actual.end() || scale->second <= 1) {
    return std::nullopt;
  }
  Cause cause;
  cause.rule = "loss_scale";
  cause.title = "The scaled loss overflows";
  cause.text = absl::StrCat(
      "The loss is multiplied by ", Number(scale->second),
      ", with which this gradient exceeds ", Number(overflow->limit),
      ". GradScaler skips such a step and tries a smaller scale: single "
      "skipped steps are normal.");
  cause.evidence.push_back(ShowCells(facts));
  cause.next = {"Nothing, unless it happens in every step.",
                "Otherwise lower init_scale, or use bfloat16, which needs no "
                "scale."};
  return cause;
}

// The largest argument of an exponential.
double LargestExponent(std::string_view op, double limit) {
  return op == "exp2" ? std::log2(limit) : std::log(limit);
}

Found Exponential(const Facts& facts) {
  const auto overflow = OverflowOf(facts);
  const auto x = InputOf(facts, 0);
  const std::string& op = facts.node.op;
  if (!overflow || !x ||
      !IsOneOf(op, {"exp", "exp2", "expm1", "sinh", "cosh"})) {
    return std::nullopt;
  }
  const double largest = LargestExponent(op, overflow->limit);
  if (std::max(x->max, op.ends_with('h') ? -x->min : x->max) <= largest) {
    return std::nullopt;
  }
  Cause cause =
      OverflowCause(facts, *overflow, 0,
                    absl::StrCat("The input reaches ", Number(x->max), "; ", op,
                                 " overflows ", overflow->dtype, " above ",
                                 Number(largest), "."));
  cause.rule = "exp_overflow";
  cause.title = absl::StrCat("Exponential overflows ", overflow->dtype);
  cause.next = {
      "Subtract the maximum before the exponential, as softmax and "
      "logsumexp do."};
  return cause;
}

// The input with the largest finite value.
std::optional<Operand> LargestInput(const Facts& facts) {
  std::optional<Operand> largest;
  for (size_t i = 0; i < facts.inputs.size(); ++i) {
    const auto x = InputOf(facts, i);
    if (x && (!largest || x->abs_max > largest->abs_max)) largest = x;
  }
  return largest;
}

bool IsProduct(std::string_view op) {
  return IsOneOf(op, {"mul", "multiply", "matmul", "mm", "bmm", "linear", "mv",
                      "addmm", "baddbmm", "addmv", "einsum", "batchmatmul"});
}

// A recurrent network multiplies its state, or its gradient, in each run.
Found RepeatedProduct(const Facts& facts) {
  const auto overflow = OverflowOf(facts);
  const auto largest = LargestInput(facts);
  if (!overflow || !largest || !IsRepeated(facts) ||
      !IsProduct(facts.node.op)) {
    return std::nullopt;
  }
  const bool gradient = facts.node.category == model::Category::kGradient;
  Cause cause = OverflowCause(
      facts, *overflow, largest->index,
      absl::StrCat("Inputs reach ", Number(largest->abs_max), ".",
                   RepeatedText(facts),
                   " A factor above 1 grows exponentially that way, here "
                   "beyond ",
                   Number(overflow->limit), "."));
  cause.rule = "repeated_product";
  cause.title = gradient ? "The gradient grows with each run of the same op"
                         : "The value grows with each run of the same op";
  cause.next = {
      gradient ? "Clip gradients, and propagate them through fewer steps of "
                 "the sequence (detach the state)."
               : "Normalize the state, or use a gated cell (LSTM, GRU) or "
                 "tanh.",
      "Initialize the recurrent weight orthogonally, so that it keeps the size "
      "of what it multiplies."};
  return cause;
}

Found Power(const Facts& facts) {
  const auto overflow = OverflowOf(facts);
  if (!overflow || !IsOneOf(facts.node.op, {"pow", "square"})) {
    return std::nullopt;
  }
  const auto base = LeftOf(facts);
  auto exponent = RightOf(facts);
  if (facts.node.op == "square") exponent = Operand{nullptr, 0, 2, 2, 2, 1, 0};
  if (!base || !exponent) return std::nullopt;
  const double result = std::pow(base->abs_max, exponent->max);
  if (result <= overflow->limit) return std::nullopt;
  return OverflowCause(
      facts, *overflow, base->input != nullptr ? base->index : exponent->index,
      absl::StrCat("The base reaches ", Number(base->abs_max),
                   "; to the power of ", Number(exponent->max), " it is ",
                   Number(result), Above(*overflow), "."));
}

Found Product(const Facts& facts) {
  const auto overflow = OverflowOf(facts);
  if (!overflow || !IsOneOf(facts.node.op, {"mul", "multiply"})) {
    return std::nullopt;
  }
  const auto a = LeftOf(facts);
  const auto b = RightOf(facts);
  if (!a || !b) return std::nullopt;
  const double product = a->abs_max * b->abs_max;
  if (product <= overflow->limit) return std::nullopt;
  const std::string text =
      b->input == nullptr
          ? absl::StrCat("Input reaches ", Number(a->abs_max), "; × ",
                         Number(b->max), " = ", Number(product))
          : absl::StrCat("Inputs reach ", Number(a->abs_max), " and ",
                         Number(b->abs_max), "; their product can be ",
                         Number(product));
  return OverflowCause(facts, *overflow, a->index,
                       absl::StrCat(text, Above(*overflow), "."));
}

Found Quotient(const Facts& facts) {
  const auto overflow = OverflowOf(facts);
  if (!overflow ||
      !IsOneOf(facts.node.op, {"div", "divide", "true_divide", "realdiv",
                               "reciprocal", "rsqrt"})) {
    return std::nullopt;
  }
  const bool one = IsOneOf(facts.node.op, {"reciprocal", "rsqrt"});
  const auto divisor = one ? InputOf(facts, 0) : RightOf(facts);
  if (!divisor || divisor->zero_count > 0) return std::nullopt;
  const double nearest = divisor->min > 0   ? divisor->min
                         : divisor->max < 0 ? -divisor->max
                                            : 0;
  if (nearest == 0 && divisor->abs_max == 0) return std::nullopt;
  const std::string text =
      nearest > 0 ? absl::StrCat("The divisor is as small as ", Number(nearest))
                  : std::string("The divisor comes close to 0");
  Cause cause =
      OverflowCause(facts, *overflow, divisor->index,
                    absl::StrCat(text, ", so that the result exceeds ",
                                 Number(overflow->limit), "."));
  cause.rule = "division_by_tiny";
  cause.title = "Division by a tiny number";
  cause.next = {"Add an epsilon to the divisor that the type can represent."};
  return cause;
}

bool IsAttention(const Facts& facts) {
  const auto is_softmax = [](const NodeFacts& reader) {
    return reader.op == "softmax";
  };
  return std::any_of(facts.readers.begin(), facts.readers.end(), is_softmax) ||
         absl::StrContains(facts.hit.node, "attn") ||
         absl::StrContains(facts.hit.node, "attention");
}

// The inputs that are multiplied.
std::optional<size_t> FirstFactor(std::string_view op) {
  if (IsOneOf(op, {"matmul", "mm", "bmm", "linear", "mv", "dot", "einsum",
                   "batchmatmul", "scaled_dot_product_attention"})) {
    return 0;
  }
  if (IsOneOf(op, {"addmm", "baddbmm", "addbmm", "addmv"})) return 1;
  return std::nullopt;
}

Found MatrixProduct(const Facts& facts) {
  const auto overflow = OverflowOf(facts);
  const auto first = FirstFactor(facts.node.op);
  if (!overflow || !first) return std::nullopt;
  const auto a = InputOf(facts, *first);
  const auto b = InputOf(facts, *first + 1);
  if (!a || !b || a->input->type.shape.empty()) return std::nullopt;
  const auto terms = static_cast<double>(a->input->type.shape.back());
  const double bound = a->abs_max * b->abs_max * terms;
  if (bound <= overflow->limit) return std::nullopt;
  const bool attention = IsAttention(facts) && facts.node.op != "linear" &&
                         facts.node.category != model::Category::kGradient;
  Cause cause = OverflowCause(
      facts, *overflow, *first,
      absl::StrCat(attention ? "Queries and keys reach " : "Inputs reach ",
                   Number(a->abs_max), " and ", Number(b->abs_max),
                   "; sums of ",
                   Counted(static_cast<uint64_t>(terms), "product"), " can be ",
                   Number(bound), Above(*overflow), "."));
  if (attention) {
    cause.rule = "attention_overflow";
    cause.title = absl::StrCat("Attention scores overflow ", overflow->dtype);
    cause.next = {
        "Divide the queries by sqrt(d) before the product, not the "
        "scores after it.",
        "Or compute the scores in bfloat16 or float32."};
  }
  return cause;
}

Found Sum(const Facts& facts) {
  const auto overflow = OverflowOf(facts);
  if (!overflow || !IsOneOf(facts.node.op, {"sum", "cumsum", "nansum"})) {
    return std::nullopt;
  }
  const model::Statistics* const values = InputStatistics(facts, 0);
  if (values == nullptr || !values->l1 || !values->abs_mean ||
      *values->l1 <= overflow->limit) {
    return std::nullopt;
  }
  return OverflowCause(
      facts, *overflow, 0,
      absl::StrCat(Counted(values->count, "value"), " with a mean size of ",
                   Number(*values->abs_mean), " add up to ",
                   Number(*values->l1), Above(*overflow), "."));
}

Found Addition(const Facts& facts) {
  const auto overflow = OverflowOf(facts);
  if (!overflow || !IsOneOf(facts.node.op, {"add", "sub", "subtract"})) {
    return std::nullopt;
  }
  const auto a = LeftOf(facts);
  const auto b = RightOf(facts);
  if (!a || !b || a->abs_max + b->abs_max <= overflow->limit) {
    return std::nullopt;
  }
  return OverflowCause(
      facts, *overflow, a->index,
      absl::StrCat("Inputs reach ", Number(a->abs_max), " and ",
                   Number(b->abs_max), "; together that is ",
                   Number(a->abs_max + b->abs_max), Above(*overflow), "."));
}

Found Conversion(const Facts& facts) {
  const auto overflow = OverflowOf(facts);
  const auto x = InputOf(facts, 0);
  if (!overflow || !x || x->input->type.dtype == facts.hit.type.dtype ||
      x->abs_max <= overflow->limit) {
    return std::nullopt;
  }
  Cause cause = OverflowCause(
      facts, *overflow, 0,
      absl::StrCat("The input is ", model::DTypeName(x->input->type),
                   " and reaches ", Number(x->abs_max), Above(*overflow),
                   ", the largest ", overflow->dtype, "."));
  cause.rule = "cast_overflow";
  cause.title = absl::StrCat("Too large for ", overflow->dtype);
  return cause;
}

// Other ops in a type with a small range.
Found AnyHalf(const Facts& facts) {
  const auto overflow = OverflowOf(facts);
  if (!overflow || !IsHalf(facts)) return std::nullopt;
  const auto largest = LargestInput(facts);
  return OverflowCause(
      facts, *overflow, largest ? largest->index : 0,
      absl::StrCat("The inputs are finite and reach ",
                   Number(largest ? largest->abs_max : 0),
                   "; the result exceeds ", Number(overflow->limit), "."));
}

}  // namespace

const std::vector<Rule>& RangeRules() {
  static const auto* const rules =
      new std::vector<Rule>{LossScale, Exponential, RepeatedProduct, Power,
                            Product,   Quotient,    MatrixProduct,   Sum,
                            Addition,  Conversion,  AnyHalf};
  return *rules;
}

}  // namespace graphdbg::diagnosis
