#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/diagnosis/numbers.h"
#include "server/diagnosis/rules.h"

namespace graphdbg::diagnosis {
namespace {

using model::EvidenceView;
using model::NodeKind;

// "NaN", "Inf", "-Inf" or "NaN and Inf".
std::string KindOf(const model::Statistics& values) {
  if (values.nan_count > 0) return InfCount(values) > 0 ? "NaN and Inf" : "NaN";
  return values.pos_inf_count > 0 ? "Inf" : "-Inf";
}

Found Received(const Facts& facts) {
  const auto& sender = facts.hit.sent_by;
  if (!sender) return std::nullopt;
  Cause cause;
  cause.rule = "received";
  cause.title = absl::StrCat(KindOf(facts.hit.statistics),
                             " received from rank ", sender->rank);
  cause.text = absl::StrCat("It came from rank ", sender->rank, " through ",
                            sender->collective, ". There, ", sender->node,
                            " was the first op whose result is not finite.");
  cause.evidence.push_back({absl::StrCat("Go to rank ", sender->rank),
                            EvidenceView::kNode, sender->node, sender->slot,
                            facts.hit.step, sender->rank});
  cause.evidence.push_back(ShowCells(facts));
  cause.next = {absl::StrCat("Look at the hit on rank ", sender->rank, ".")};
  return cause;
}

// Data that the program has read: a tensor that an op or a model was given.
Cause BadData(absl::string_view name, const model::Statistics& values) {
  Cause cause;
  cause.rule = "bad_input";
  cause.title = absl::StrCat(KindOf(values), " in the input data");
  cause.text =
      absl::StrCat("In ", name, ", ", Of(NonFiniteCount(values), values.count),
                   NonFiniteCount(values) == 1 ? " is " : " are ",
                   KindOf(values), " before an op has computed with it.");
  cause.next = {
      "Look at the samples of this batch, and at the steps that "
      "prepare them: division by a range of 0, missing values."};
  return cause;
}

// Whether a weight that is bad in this step has never been updated. Weights are
// looked at when a step has ended; step 0 ends before the first update.
bool BeforeFirstUpdate(const Facts& facts) {
  return facts.hit.step == 0 ||
         (facts.hit.step == 1 && facts.node.kind == NodeKind::kOp);
}

Cause BadParameter(const Facts& facts, absl::string_view name,
                   const model::Statistics& values, bool buffer) {
  Cause cause;
  cause.rule = "parameter_not_finite";
  cause.title = absl::StrCat(buffer ? "Buffer" : "Weight", " already contains ",
                             KindOf(values));
  cause.text = absl::StrCat(
      "In ", name, ", ", Of(NonFiniteCount(values), values.count),
      NonFiniteCount(values) == 1 ? " is " : " are ", KindOf(values));
  if (BeforeFirstUpdate(facts)) {
    absl::StrAppend(&cause.text,
                    " before the first update: the initialization or the "
                    "checkpoint has put it there.");
    cause.next = {
        "Check the checkpoint that was loaded, or the "
        "initialization: torch.isfinite(p).all() for all "
        "parameters."};
  } else {
    absl::StrAppend(&cause.text,
                    ": an update in an earlier step, or the "
                    "checkpoint, has put it there.");
    cause.next = {
        "Watch gradients for NaN, and start again from a checkpoint "
        "whose weights are finite."};
  }
  return cause;
}

// A weight or buffer that was looked at when a step had ended.
Found KeptTensor(const Facts& facts) {
  const model::Hit& hit = facts.hit;
  const model::Statistics& values = hit.statistics;
  const bool buffer = facts.node.kind == NodeKind::kBuffer;
  if (BeforeFirstUpdate(facts)) {
    return BadParameter(facts, hit.node, values, buffer);
  }
  Cause cause;
  cause.rule = "parameter_not_finite";
  cause.title =
      absl::StrCat(buffer ? "Buffer" : "Weight", " contains ", KindOf(values));
  cause.text = absl::StrCat(
      "At the end of step ", hit.step, ", ",
      Of(NonFiniteCount(values), values.count),
      NonFiniteCount(values) == 1 ? " is " : " are ", KindOf(values),
      ". If no gradient was so before, the initialization or the checkpoint "
      "has put it there.");
  cause.next = {
      "Check the checkpoint that was loaded, or the initialization: "
      "torch.isfinite(p).all() for all parameters."};
  return cause;
}

// Whether an op passes on values that no op has made: data from NumPy, a file
// or another process, or numbers given to torch.tensor.
bool PassesOnData(const Facts& facts) {
  const auto is_data = [](const InputFacts& input) {
    return input.producer.name.empty();
  };
  return IsOneOf(facts.node.op,
                 {"lift_fresh",   "view",    "reshape", "unsqueeze",
                  "squeeze",      "select",  "slice",   "index",
                  "index_select", "stack",   "cat",     "transpose",
                  "permute",      "t",       "alias",   "detach",
                  "clone",        "to_copy", "copy",    "pin_memory"}) &&
         !InputsAreFinite(facts) &&
         std::all_of(facts.inputs.begin(), facts.inputs.end(), is_data);
}

// Whether the hit is at an argument of the model that no op has made.
bool IsData(const Facts& facts) {
  return facts.node.kind == NodeKind::kInput &&
         std::none_of(facts.inputs.begin(), facts.inputs.end(),
                      [](const InputFacts& input) {
                        return input.producer.kind == NodeKind::kOp &&
                               !input.producer.name.empty();
                      });
}

// The hit's own tensor is data, a weight or a buffer.
Found OwnTensorIsBad(const Facts& facts) {
  const model::Hit& hit = facts.hit;
  const NodeKind kind = facts.node.kind;
  Found cause;
  if (IsData(facts) || (kind == NodeKind::kOp && PassesOnData(facts))) {
    cause = BadData(hit.node, hit.statistics);
  } else if (kind == NodeKind::kParameter || kind == NodeKind::kBuffer) {
    cause = KeptTensor(facts);
  }
  if (cause) cause->evidence.push_back(ShowCells(facts));
  return cause;
}

Found InputIsBad(const Facts& facts) {
  for (size_t i = 0; i < facts.inputs.size(); ++i) {
    const model::Statistics* const values = InputStatistics(facts, i);
    if (values == nullptr || NonFiniteCount(*values) == 0) continue;
    const NodeFacts& producer = facts.inputs[i].producer;
    Found cause;
    if (producer.kind == NodeKind::kInput && !producer.name.empty()) {
      cause = BadData(producer.name, *values);
    } else if (producer.kind == NodeKind::kParameter ||
               producer.kind == NodeKind::kBuffer) {
      cause = BadParameter(facts, producer.name, *values,
                           producer.kind == NodeKind::kBuffer);
    }
    if (!cause) continue;
    model::EvidenceLink cells = ShowInput(facts, i);
    cells.view = EvidenceView::kCells;
    cells.label =
        absl::StrCat("Show ", Counted(NonFiniteCount(*values), "cell"));
    cause->evidence.push_back(std::move(cells));
    return cause;
  }
  return std::nullopt;
}

bool AnyInputHasNan(const Facts& facts) {
  return std::any_of(facts.inputs.begin(), facts.inputs.end(),
                     [](const InputFacts& input) {
                       return input.statistics && input.statistics->nan_count;
                     });
}

// NaN that an op makes of infinities.
bool MakesNan(const Facts& facts) {
  return facts.hit.statistics.nan_count > 0 && !AnyInputHasNan(facts);
}

Found InfMinusInf(const Facts& facts) {
  const bool add = IsOneOf(facts.node.op, {"add", "rsub", "sub", "subtract"});
  const model::Statistics* const a = InputStatistics(facts, 0);
  const model::Statistics* const b = InputStatistics(facts, 1);
  if (!add || !MakesNan(facts) || a == nullptr || b == nullptr ||
      InfCount(*a) == 0 || InfCount(*b) == 0) {
    return std::nullopt;
  }
  Cause cause;
  cause.rule = "inf_minus_inf";
  cause.title = "Infinity minus infinity";
  cause.text =
      absl::StrCat("Both inputs have infinities (", Count(InfCount(*a)),
                   " and ", Count(InfCount(*b)), "), and Inf - Inf is NaN.");
  cause.evidence.push_back(ShowCells(facts));
  AddInput(facts, 0, cause);
  cause.next = {"Follow the infinities back to the op that made them."};
  return cause;
}

Found InfTimesZero(const Facts& facts) {
  if (!IsOneOf(facts.node.op,
               {"mul", "multiply", "matmul", "mm", "bmm", "addmm", "baddbmm",
                "linear", "dot", "mv", "einsum", "convolution"}) ||
      !MakesNan(facts)) {
    return std::nullopt;
  }
  for (size_t i = 0; i < facts.inputs.size(); ++i) {
    const model::Statistics* const infinite = InputStatistics(facts, i);
    if (infinite == nullptr || InfCount(*infinite) == 0) continue;
    for (size_t k = 0; k < facts.inputs.size(); ++k) {
      const model::Statistics* const zero = InputStatistics(facts, k);
      if (k == i || zero == nullptr || zero->zero_count == 0) continue;
      Cause cause;
      cause.rule = "inf_times_zero";
      cause.title = "Infinity times zero";
      cause.text = absl::StrCat(
          "One input has ",
          InfCount(*infinite) == 1
              ? "one infinity"
              : absl::StrCat(Count(InfCount(*infinite)), " infinities"),
          ", the other ", Counted(zero->zero_count, "zero"),
          ", and Inf * 0 is NaN.");
      cause.evidence.push_back(ShowCells(facts));
      AddInput(facts, i, cause);
      cause.next = {"Follow the infinities back to the op that made them.",
                    "To discard elements, use torch.where or masked_fill "
                    "instead of a product with a mask of zeros."};
      return cause;
    }
  }
  return std::nullopt;
}

// A whole row of scores is -Inf. The row's largest value is then -Inf too, and
// softmax computes -Inf - -Inf.
Found MaskedRow(const Facts& facts) {
  if (!IsOneOf(facts.node.op, {"softmax", "log_softmax", "logsumexp"}) ||
      !MakesNan(facts)) {
    return std::nullopt;
  }
  const model::Statistics* const scores = InputStatistics(facts, 0);
  const std::vector<int64_t>& shape = facts.hit.type.shape;
  if (scores == nullptr || shape.empty()) return std::nullopt;
  Cause cause;
  cause.evidence.push_back(ShowCells(facts));
  AddInput(facts, 0, cause);
  if (scores->pos_inf_count > 0) {
    cause.rule = "softmax_of_inf";
    cause.title = "Softmax of infinity";
    cause.text =
        absl::StrCat("In the input, ", Of(scores->pos_inf_count, scores->count),
                     scores->pos_inf_count == 1 ? " is" : " are",
                     " Inf, and softmax computes Inf - Inf.");
    cause.next = {"Follow the infinities back: the scores have overflowed."};
    return cause;
  }
  auto dim = static_cast<int64_t>(facts.node.Number("dim").value_or(-1));
  const auto rank = static_cast<int64_t>(shape.size());
  if (dim < 0) dim += rank;
  if (dim < 0 || dim >= rank || shape[dim] <= 0) return std::nullopt;
  const auto length = static_cast<uint64_t>(shape[dim]);
  const uint64_t rows = facts.hit.statistics.nan_count / length;
  if (rows == 0 || scores->neg_inf_count < rows * length) return std::nullopt;
  cause.rule = "masked_row";
  cause.title = "Every element of a row is masked";
  cause.text = absl::StrCat("In ", Counted(rows, "row"), " all ", Count(length),
                            " scores "
                            "are -Inf, so nothing is left to normalize.");
  cause.next = {"Let each row keep at least one element, for example itself.",
                "Or mask with a large finite number instead of -Inf."};
  return cause;
}

}  // namespace

const std::vector<Rule>& SpreadRules() {
  static const auto* const rules =
      new std::vector<Rule>{Received,    OwnTensorIsBad, InputIsBad,
                            InfMinusInf, InfTimesZero,   MaskedRow};
  return *rules;
}

}  // namespace graphdbg::diagnosis
