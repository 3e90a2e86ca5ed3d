#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/diagnosis/numbers.h"
#include "server/diagnosis/rules.h"

namespace graphdbg::diagnosis {
namespace {

Found AllLabelsIgnored(const Facts& facts) {
  if (!IsOneOf(facts.node.op,
               {"nll_loss", "nll_loss_forward", "nll_loss2d",
                "nll_loss2d_forward", "cross_entropy_loss", "cross_entropy"})) {
    return std::nullopt;
  }
  const auto labels = InputOf(facts, 1);
  const double ignored = facts.node.Number("ignore_index").value_or(-100);
  if (!labels || labels->min != ignored || labels->max != ignored) {
    return std::nullopt;
  }
  Cause cause;
  cause.rule = "labels_ignored";
  cause.title = "All labels are ignored";
  cause.text = absl::StrCat(
      labels->count == 1
          ? "The only label is "
          : absl::StrCat("All ", Count(labels->count), " labels are "),
      Number(ignored), " (ignore_index), so the mean is 0/0.");
  AddInput(facts, 1, cause);
  cause.next = {
      "Skip such batches, or use reduction=\"sum\" and divide by "
      "max(1, number of labels)."};
  return cause;
}

Found MeanOfNothing(const Facts& facts) {
  if (!IsOneOf(facts.node.op, {"mean", "nanmean", "median"})) {
    return std::nullopt;
  }
  const model::Statistics* const values = InputStatistics(facts, 0);
  if (values == nullptr || values->count > 0) return std::nullopt;
  Cause cause;
  cause.rule = "mean_of_nothing";
  cause.title = "Mean of an empty tensor";
  cause.text = "The input has no elements, and the mean of nothing is 0/0.";
  AddInput(facts, 0, cause);
  cause.next = {
      "Skip batches for which a selection is empty, or divide the "
      "sum by max(1, count)."};
  return cause;
}

// Each standard deviation is that of one value.
Found DeviationOfOne(const Facts& facts) {
  if (!IsOneOf(facts.node.op, {"std", "var", "std_mean", "var_mean"})) {
    return std::nullopt;
  }
  const model::Statistics* const values = InputStatistics(facts, 0);
  const uint64_t results = facts.hit.statistics.count;
  if (values == nullptr || results == 0 || values->count != results) {
    return std::nullopt;
  }
  Cause cause;
  cause.rule = "deviation_of_one";
  cause.title = "Standard deviation of a single value";
  cause.text =
      absl::StrCat("Each of the ", Counted(results, "result"),
                   " is computed from one value, and the unbiased deviation "
                   "divides by n - 1 = 0.");
  if (results == 1) {
    cause.text =
        "It is computed from one value, and the unbiased deviation "
        "divides by n - 1 = 0.";
  }
  AddInput(facts, 0, cause);
  cause.next = {
      "Use unbiased=False (correction=0), or drop the last batch if "
      "it has one sample."};
  return cause;
}

bool IsNormalization(std::string_view op) {
  return IsOneOf(op, {"layer_norm", "batch_norm", "batchnorm", "layernorm",
                      "group_norm", "instance_norm", "rms_norm",
                      "batch_norm_legit", "batch_norm_legit_functional"});
}

Found NormalizationOfConstant(const Facts& facts) {
  const auto x = InputOf(facts, 0);
  if (!IsNormalization(facts.node.op) || !x || !InputsAreFinite(facts)) {
    return std::nullopt;
  }
  const auto eps = facts.node.Number("eps");
  const bool constant = x->min == x->max;
  if (!eps || *eps != 0) return std::nullopt;
  Cause cause;
  cause.rule = "normalization_without_epsilon";
  cause.title = "Normalization of constant values";
  cause.text = absl::StrCat(
      constant ? absl::StrCat("All ", Count(x->count), " inputs are ",
                              Number(x->min), ": their variance is 0")
               : "The variance of a row is 0",
      ", and eps is 0, so the result is 0/0.");
  cause.evidence.push_back(ShowCells(facts));
  AddInput(facts, 0, cause);
  cause.next = {"Use an epsilon, such as the default of 1e-5.",
                "Look at why the values are all the same."};
  return cause;
}

}  // namespace

const std::vector<Rule>& ReductionRules() {
  static const auto* const rules = new std::vector<Rule>{
      AllLabelsIgnored, MeanOfNothing, DeviationOfOne, NormalizationOfConstant};
  return *rules;
}

}  // namespace graphdbg::diagnosis
