#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "agent/conditions/catalogue.h"
#include "server/diagnosis/numbers.h"
#include "server/diagnosis/rules.h"

namespace graphdbg::diagnosis {
namespace {

using model::Category;
using model::NodeKind;

bool IsCondition(const Facts& facts,
                 std::initializer_list<std::string_view> ids) {
  return facts.hit.condition != nullptr &&
         IsOneOf(facts.hit.condition->id, ids);
}

bool IsZero(const model::Statistics& values) {
  return values.count > 0 && values.zero_count == values.count;
}

std::string Range(double min, double max) {
  if (min == max) return absl::StrCat("are ", Number(min));
  return absl::StrCat("are between ", Number(min), " and ", Number(max));
}

std::string Range(const Operand& x) { return Range(x.min, x.max); }

// What the program has found itself.
Found Reported(const Facts& facts) {
  if (facts.hit.message.empty() || facts.hit.condition == nullptr) {
    return std::nullopt;
  }
  const conditions::Condition* const condition =
      conditions::Find(facts.hit.condition->id);
  if (condition == nullptr) return std::nullopt;
  return Cause{condition->id, condition->title, facts.hit.message, {}, {}};
}

bool IsRelu(std::string_view op) {
  return IsOneOf(
      op, {"relu", "relu6", "threshold", "clamp_min", "hardtanh", "reluv2"});
}

Found DeadRelu(const Facts& facts) {
  const auto x = InputOf(facts, 0);
  if (!IsRelu(facts.node.op) || !x || x->max > 0 ||
      !IsZero(facts.hit.statistics)) {
    return std::nullopt;
  }
  Cause cause;
  cause.rule = "dead_relu";
  cause.title = "Dead ReLU";
  cause.text = absl::StrCat("All ", Count(x->count), " inputs ", Range(*x),
                            ". ReLU makes 0 of each, and no gradient passes "
                            "back through it.");
  AddInput(facts, 0, cause);
  AddSibling(facts, cause);
  cause.next = {
      "Look at the bias of the layer before it, and at its last "
      "large update: lower the learning rate.",
      "Normalize before the activation, or use LeakyReLU or GELU."};
  return cause;
}

Found DeadReluBlocksGradient(const Facts& facts) {
  if (!IsOneOf(facts.node.op,
               {"threshold_backward", "relu_backward", "relugrad"}) ||
      !IsZero(facts.hit.statistics)) {
    return std::nullopt;
  }
  const auto gradient = InputOf(facts, 0);
  const auto output = InputOf(facts, 1);
  if (!gradient || !output || gradient->abs_max == 0 || output->max > 0) {
    return std::nullopt;
  }
  Cause cause;
  cause.rule = "dead_relu_gradient";
  cause.title = "A dead ReLU stops the gradient";
  cause.text = absl::StrCat("A gradient of up to ", Number(gradient->abs_max),
                            " arrives, but all ", Count(output->count),
                            " outputs of the ReLU are 0, so nothing passes.");
  AddInput(facts, 1, cause);
  cause.next = {
      "Look at the bias of the layer before it, and at its last "
      "large update."};
  return cause;
}

// A sigmoid or tanh is flat, and its gradient nearly 0, beyond this input.
double FlatBeyond(std::string_view op) { return op == "tanh" ? 4 : 8; }

// The largest derivative that outputs of a sigmoid or tanh between these have,
// y (1 - y) or 1 - y². Absent unless all are at one end of the range.
std::optional<double> SlopeAtEnd(bool tanh, double min, double max) {
  const double nearest =
      std::min(tanh ? std::max(-max, min) : std::max(min, 1 - max), 1.0);
  if (nearest < (tanh ? 0.99 : 0.98)) return std::nullopt;
  return tanh ? 1 - nearest * nearest : nearest * (1 - nearest);
}

// What shows that a sigmoid or tanh is saturated: its input or, if that was not
// measured, its output. Empty if nothing does.
std::string Saturation(const Facts& facts) {
  const std::string& op = facts.node.op;
  const model::Statistics* const input = InputStatistics(facts, 0);
  if (const auto x = InputOf(facts, 0); x && input->abs_mean) {
    if (*input->abs_mean < FlatBeyond(op)) return "";
    return absl::StrCat("All ", Count(x->count), " inputs ", Range(*x), ", ",
                        Number(*input->abs_mean),
                        " from 0 on average; beyond ±", Number(FlatBeyond(op)),
                        " ", op, " is flat and passes almost no gradient.");
  }
  const model::Statistics& output = facts.hit.statistics;
  if (!output.min || !output.max) return "";
  const auto slope = SlopeAtEnd(op == "tanh", *output.min, *output.max);
  if (!slope) return "";
  return absl::StrCat("All ", Count(output.count), " outputs ",
                      Range(*output.min, *output.max),
                      ", where its derivative is at most ", Number(*slope),
                      ": it passes almost no gradient.");
}

Found Saturated(const Facts& facts) {
  const std::string& op = facts.node.op;
  if (!IsOneOf(op, {"sigmoid", "tanh"}) ||
      !IsCondition(facts, {"activation_range", "tensor_range"})) {
    return std::nullopt;
  }
  std::string text = Saturation(facts);
  if (text.empty()) return std::nullopt;
  Cause cause;
  cause.rule = "saturated";
  cause.title = absl::StrCat("Saturated ", op);
  cause.text = std::move(text);
  AddInput(facts, 0, cause);
  AddSibling(facts, cause);
  cause.next = {"Scale the input down, or normalize it before the activation.",
                "Look at the initialization and the learning rate of the layer "
                "before it."};
  return cause;
}

Found SaturatedGradient(const Facts& facts) {
  const std::string& op = facts.node.op;
  if (!IsOneOf(op, {"sigmoid_backward", "tanh_backward"})) return std::nullopt;
  const auto gradient = InputOf(facts, 0);
  const auto y = InputOf(facts, 1);
  if (!gradient || !y) return std::nullopt;
  const bool tanh = op == "tanh_backward";
  const auto slope = SlopeAtEnd(tanh, y->min, y->max);
  if (!slope) return std::nullopt;
  Cause cause;
  cause.rule = "saturated_gradient";
  cause.title = absl::StrCat("A saturated ", tanh ? "tanh" : "sigmoid",
                             " stops the gradient");
  cause.text =
      absl::StrCat("All ", Count(y->count), " of its outputs ", Range(*y),
                   ", where its derivative is at most ", Number(*slope), ".");
  AddInput(facts, 1, cause);
  cause.next = {"Look at the input of the activation in the forward pass."};
  return cause;
}

// Rows that a linear layer has made are one sample each.
bool MakesRows(std::string_view op) {
  return IsOneOf(op, {"linear", "addmm", "mm", "matmul"});
}

Found SoftmaxOverBatch(const Facts& facts) {
  const std::vector<int64_t>& shape = facts.hit.type.shape;
  if (!IsOneOf(facts.node.op, {"softmax", "log_softmax"}) ||
      !IsOverRows(facts.node, shape) || facts.inputs.empty() ||
      !MakesRows(facts.inputs[0].producer.op)) {
    return std::nullopt;
  }
  Cause cause;
  cause.rule = "softmax_over_batch";
  cause.title = "Softmax over the batch";
  cause.text = absl::StrCat(
      "It is over dimension 0 of [", shape[0], ", ", shape[1], "]. The ",
      shape[0], " rows come from ", facts.inputs[0].producer.op,
      ", one for each sample, so that samples compete with one another, and "
      "not the ",
      shape[1], " values of each.");
  AddInput(facts, 0, cause);
  cause.next = {
      "Use dim=1 (or -1), with which the values of each sample add "
      "up to 1.",
      "For a loss, give the logits to cross_entropy, which "
      "normalizes them itself."};
  return cause;
}

// The index of the input that is a gradient. Absent if there is none.
std::optional<size_t> IncomingGradient(const Facts& facts) {
  for (size_t i = 0; i < facts.inputs.size(); ++i) {
    if (facts.inputs[i].producer.category == Category::kGradient) return i;
  }
  return std::nullopt;
}

// Whether an op reads tensors of the forward pass only. What the backward pass
// makes of them, such as a transposed weight, is no gradient.
bool ReadsForwardOnly(const Facts& facts) {
  const auto is_forward = [](const InputFacts& input) {
    return !input.producer.name.empty() &&
           input.producer.category != Category::kGradient;
  };
  return !facts.inputs.empty() &&
         std::all_of(facts.inputs.begin(), facts.inputs.end(), is_forward);
}

// What the op makes of the gradient that arrives.
std::string Change(const Facts& facts) {
  const auto incoming = IncomingGradient(facts);
  const model::Statistics* const before =
      incoming ? InputStatistics(facts, *incoming) : nullptr;
  const auto& after = facts.hit.statistics.abs_mean;
  if (before == nullptr || !before->abs_mean || !after || *after == 0 ||
      *before->abs_mean == 0) {
    return "";
  }
  const double ratio = *after / *before->abs_mean;
  return absl::StrCat(" It arrives with ", Number(*before->abs_mean),
                      " and is made ", Number(ratio < 1 ? 1 / ratio : ratio),
                      " times ", ratio < 1 ? "smaller" : "larger", " here.");
}

Found VanishingGradient(const Facts& facts) {
  const auto& mean = facts.hit.statistics.abs_mean;
  const bool small =
      IsCondition(facts, {"gradient_vanishing"}) ||
      (facts.node.category == Category::kGradient &&
       IsCondition(facts, {"tensor_too_small", "abs_mean_lt", "abs_max_lt"}));
  if (!small || ReadsForwardOnly(facts) || !mean ||
      IsZero(facts.hit.statistics)) {
    return std::nullopt;
  }
  Cause cause;
  cause.rule = "vanishing_gradient";
  cause.title = "Vanishing gradient";
  cause.text = absl::StrCat("The mean |g| of ",
                            Counted(facts.hit.statistics.count, "value"),
                            " is ", Number(*mean), ".", Change(facts));
  cause.evidence.push_back(ShowHistory(facts));
  if (const auto i = IncomingGradient(facts)) AddInput(facts, *i, cause);
  AddSibling(facts, cause);
  cause.next = {
      "Follow the gradient from the loss backwards: where does it "
      "shrink?",
      "Replace sigmoids by ReLU, add residual connections or "
      "normalization, or check the initialization."};
  return cause;
}

Found ZeroGradient(const Facts& facts) {
  if (facts.node.category != Category::kGradient ||
      !IsZero(facts.hit.statistics)) {
    return std::nullopt;
  }
  const auto incoming = IncomingGradient(facts);
  const auto gradient = incoming ? InputOf(facts, *incoming) : std::nullopt;
  if (!gradient || gradient->abs_max > 0) return std::nullopt;
  Cause cause;
  cause.rule = "zero_gradient";
  cause.title = "The gradient is zero before this op";
  cause.text = absl::StrCat("All ", Count(gradient->count),
                            " values of the gradient that arrives are 0; this "
                            "op only passes it on.");
  AddInput(facts, *incoming, cause);
  cause.next = {"Walk from the loss back to the first gradient that is zero."};
  return cause;
}

Found ExplodingGradient(const Facts& facts) {
  const auto& values = facts.hit.statistics;
  if (facts.node.category != Category::kGradient || ReadsForwardOnly(facts) ||
      !values.abs_mean || !values.abs_max ||
      !IsCondition(
          facts, {"gradient_too_large", "gradient_exploding",
                  "tensor_too_large", "abs_mean_gt", "abs_max_gt", "max_gt"})) {
    return std::nullopt;
  }
  Cause cause;
  cause.rule = "exploding_gradient";
  cause.title = "Exploding gradient";
  cause.text =
      absl::StrCat("|g| has a mean of ", Number(*values.abs_mean),
                   " and reaches ", Number(*values.abs_max), ".", Change(facts),
                   IsRepeated(facts) ? RepeatedText(facts) : "");
  cause.evidence.push_back(ShowHistory(facts));
  if (const auto i = IncomingGradient(facts)) AddInput(facts, *i, cause);
  AddSibling(facts, cause);
  cause.next = {"Clip gradients: clip_grad_norm_(parameters, 1.0).",
                "Lower the learning rate, and check the scale of the input "
                "data and of the loss."};
  return cause;
}

// Elements of float32 differ by at least this share of them.
constexpr double kLostChange = 1.2e-7;

// The change of a parameter relative to its values, if an expression has
// measured that.
std::optional<double> ChangeRatio(const Facts& facts) {
  const auto found = facts.hit.actual.find("change_ratio");
  if (!IsCondition(facts, {"expression"}) || found == facts.hit.actual.end()) {
    return std::nullopt;
  }
  return found->second;
}

bool IsUnchanged(const Facts& facts) {
  return facts.node.kind == NodeKind::kParameter &&
         (IsCondition(facts, {"weight_not_changed", "tensor_not_changed",
                              "weight_change_too_small"}) ||
          ChangeRatio(facts).value_or(1) < kLostChange);
}

Found Frozen(const Facts& facts) {
  const auto& attributes = facts.node.attributes;
  const auto found = attributes.find("requires_grad");
  if (!IsUnchanged(facts) || found == attributes.end() ||
      found->second != "False") {
    return std::nullopt;
  }
  Cause cause;
  cause.rule = "frozen";
  cause.title = "Frozen parameter";
  cause.text = absl::StrCat("requires_grad is False: ", facts.node.name,
                            " has no gradient and is never updated.");
  cause.evidence.push_back(ShowHistory(facts));
  cause.next = {
      "Nothing, if it is frozen on purpose: exclude it from the "
      "watchpoint.",
      "Otherwise set requires_grad_(True) before the optimizer is "
      "created."};
  return cause;
}

bool IsZeroNumber(absl::string_view text) {
  return text == "0" || text == "-0";
}

// The name of an argument that scales an optimizer's update, if it is zero.
std::string ZeroScale(const NodeFacts& op) {
  for (const char* name : {"alpha", "value", "lr"}) {
    const auto found = op.attributes.find(name);
    if (found != op.attributes.end() && IsZeroNumber(found->second)) {
      return name;
    }
  }
  const auto scalars = op.attributes.find("scalars");
  if (scalars == op.attributes.end()) return "";
  absl::string_view list = scalars->second;
  list = absl::StripSuffix(absl::StripPrefix(list, "["), "]");
  for (const absl::string_view each : absl::StrSplit(list, ", ")) {
    if (!IsZeroNumber(each)) return "";
  }
  return "scalars";
}

Found RateOfZero(const Facts& facts) {
  if (!IsUnchanged(facts)) return std::nullopt;
  for (const NodeFacts& reader : facts.readers) {
    if (!absl::StartsWith(reader.name, "optimizer/")) continue;
    const std::string scale = ZeroScale(reader);
    if (scale.empty()) continue;
    Cause cause;
    cause.rule = "rate_of_zero";
    cause.title = "Learning rate of zero";
    cause.text = absl::StrCat("The optimizer multiplies the update by 0 (",
                              scale, " of ", reader.name, ").");
    cause.evidence.push_back({"Show the update", model::EvidenceView::kNode,
                              reader.name, 0, facts.hit.step, facts.hit.rank});
    cause.next = {
        "Print the learning rate of each parameter group, and look "
        "at the scheduler and its warm-up."};
    return cause;
  }
  return std::nullopt;
}

Found NotOptimized(const Facts& facts) {
  const auto in_optimizer = [](const NodeFacts& reader) {
    return absl::StartsWith(reader.name, "optimizer/");
  };
  if (!IsUnchanged(facts) || facts.readers.empty() ||
      std::any_of(facts.readers.begin(), facts.readers.end(), in_optimizer)) {
    return std::nullopt;
  }
  Cause cause;
  cause.rule = "not_optimized";
  cause.title = "No optimizer updates this parameter";
  cause.text = absl::StrCat("The forward pass reads ", facts.node.name,
                            ", but no op of an optimizer does.");
  cause.evidence.push_back(ShowHistory(facts));
  cause.next = {"Create the optimizer with all parameters of the model.",
                "Check that the parameter gets a gradient at all."};
  return cause;
}

Found LostUpdate(const Facts& facts) {
  const auto ratio = ChangeRatio(facts);
  if (!IsUnchanged(facts) || !ratio) return std::nullopt;
  Cause cause;
  cause.rule = "lost_update";
  cause.title = "A weight that hardly changes";
  cause.text =
      absl::StrCat("The step has changed it by ", Number(*ratio),
                   " of its size on average, less than float32 can hold. ",
                   *ratio > 0 ? "Its gradient has probably vanished."
                              : "Its gradient is zero, or missing.");
  cause.evidence.push_back(ShowHistory(facts));
  cause.next = {
      "Look at the gradients of all layers in the overview: do they shrink "
      "from layer to layer?",
      "Replace sigmoids by ReLU, add residual connections or "
      "normalization, or check the initialization and the learning rate."};
  return cause;
}

Found ZeroWeights(const Facts& facts) {
  if (!IsCondition(facts, {"weight_initialization"}) ||
      !IsZero(facts.hit.statistics)) {
    return std::nullopt;
  }
  Cause cause;
  cause.rule = "zero_weights";
  cause.title = "Weights start at zero";
  cause.text = absl::StrCat("All ", Count(facts.hit.statistics.count),
                            " values are 0, so that all units of the layer "
                            "are the same and get the same gradient.");
  cause.evidence.push_back(ShowValues(facts));
  cause.next = {"Initialize it at random, for example by kaiming_uniform_."};
  return cause;
}

Found LargeUpdate(const Facts& facts) {
  const auto ratio = facts.hit.actual.find("abs_mean_update_ratio_gt");
  if (ratio == facts.hit.actual.end()) return std::nullopt;
  Cause cause;
  cause.rule = "large_update";
  cause.title = "Update too large for the weights";
  cause.text =
      absl::StrCat("One step has changed them by ", Number(100 * ratio->second),
                   " % of their mean size.");
  cause.evidence.push_back(ShowHistory(facts));
  cause.next = {"Lower the learning rate, or warm it up.", "Clip gradients."};
  return cause;
}

}  // namespace

const std::vector<Rule>& TrainingRules() {
  static const auto* const rules =
      new std::vector<Rule>{Reported,          SoftmaxOverBatch,
                            DeadRelu,          DeadReluBlocksGradient,
                            Saturated,         SaturatedGradient,
                            VanishingGradient, ZeroGradient,
                            ExplodingGradient, Frozen,
                            RateOfZero,        NotOptimized,
                            LostUpdate,        ZeroWeights,
                            LargeUpdate};
  return *rules;
}

}  // namespace graphdbg::diagnosis
