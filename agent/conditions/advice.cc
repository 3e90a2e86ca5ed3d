#include "agent/conditions/advice.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "agent/conditions/advice_table.h"

namespace graphdbg::conditions {
namespace {

struct ConditionSymptom {
  absl::string_view id;
  Symptom symptom;
};

constexpr ConditionSymptom kSymptoms[] = {
    {"nan", Symptom::kNonFinite},
    {"inf", Symptom::kNonFinite},
    {"overflow", Symptom::kNonFinite},
    {"tensor_overflow", Symptom::kNonFinite},
    {"operator_overflow", Symptom::kNonFinite},
    {"weight_overflow", Symptom::kNonFinite},
    {"gradient_exploding", Symptom::kNonFinite},
    {"tensor_too_large", Symptom::kTooLarge},
    {"weight_too_large", Symptom::kTooLarge},
    {"gradient_too_large", Symptom::kLargeGradient},
    {"tensor_too_small", Symptom::kTooSmall},
    {"weight_too_small", Symptom::kTooSmall},
    {"gradient_vanishing", Symptom::kVanishingGradient},
    {"tensor_all_zero", Symptom::kAllZero},
    {"tensor_not_changed", Symptom::kUnchanged},
    {"weight_not_changed", Symptom::kUnchanged},
    {"weight_change_too_large", Symptom::kChangeTooLarge},
    {"weight_change_too_small", Symptom::kChangeTooSmall},
    {"weight_initialization", Symptom::kInitialization},
    {"tensor_range", Symptom::kRange},
    {"activation_range", Symptom::kRange},
    {"tensor_variance", Symptom::kVariance},
    {"activation_inactive", Symptom::kInactive},
    {"gradient_always_zero", Symptom::kGradientAlwaysZero},
    {"gradient_missing", Symptom::kGradientMissing},
    {"parameter_not_optimized", Symptom::kNotOptimized},
    {"update_without_effect", Symptom::kNoEffect},
    {"learning_rate_not_positive", Symptom::kLearningRate},
    {"gradient_not_reset", Symptom::kNotReset},
    {"loss_detached", Symptom::kLossDetached},
    {"loss_broadcast", Symptom::kLossBroadcast},
    {"loss_normalized_twice", Symptom::kNormalizedTwice},
    {"output_constant", Symptom::kConstantOutput},
    {"wrong_mode", Symptom::kWrongMode},
    {"batch_repeated", Symptom::kRepeatedBatch},
    {"autocast_without_effect", Symptom::kAutocast},
    {"cast_without_effect", Symptom::kCast},
    {"replicas_differ", Symptom::kReplicas},
    {"expression", Symptom::kExpression},
};

// The symptoms of a large and of a small value of a statistic that an
// expression uses. The first row that applies decides.
struct MeasureSymptom {
  absl::string_view measure;
  Symptom large;
  Symptom small;
};

constexpr MeasureSymptom kMeasureSymptoms[] = {
    {"nan_count", Symptom::kNonFinite, Symptom::kNonFinite},
    {"inf_count", Symptom::kNonFinite, Symptom::kNonFinite},
    {"pos_inf_count", Symptom::kNonFinite, Symptom::kNonFinite},
    {"neg_inf_count", Symptom::kNonFinite, Symptom::kNonFinite},
    {"zero_percentage", Symptom::kAllZero, Symptom::kExpression},
    {"zero_count", Symptom::kAllZero, Symptom::kExpression},
    {"idle_unit_percentage", Symptom::kInactive, Symptom::kExpression},
    {"inactive_percentage", Symptom::kInactive, Symptom::kExpression},
    {"changed_count", Symptom::kExpression, Symptom::kUnchanged},
    {"change_ratio", Symptom::kChangeTooLarge, Symptom::kChangeTooSmall},
    {"change_abs_mean", Symptom::kChangeTooLarge, Symptom::kChangeTooSmall},
    {"change_abs_max", Symptom::kChangeTooLarge, Symptom::kChangeTooSmall},
    {"change_l2", Symptom::kChangeTooLarge, Symptom::kChangeTooSmall},
    {"variance", Symptom::kVariance, Symptom::kVariance},
    {"sd", Symptom::kVariance, Symptom::kVariance},
    {"abs_max", Symptom::kTooLarge, Symptom::kTooSmall},
    {"abs_mean", Symptom::kTooLarge, Symptom::kTooSmall},
    {"l1", Symptom::kTooLarge, Symptom::kTooSmall},
    {"l2", Symptom::kTooLarge, Symptom::kTooSmall},
};

// Whether the expression uses the name.
bool Uses(absl::string_view expression, absl::string_view name) {
  const auto in_name = [&](size_t at) {
    return at < expression.size() &&
           (absl::ascii_isalnum(static_cast<unsigned char>(expression[at])) ||
            expression[at] == '_');
  };
  for (size_t at = expression.find(name); at != absl::string_view::npos;
       at = expression.find(name, at + 1)) {
    if ((at == 0 || !in_name(at - 1)) && !in_name(at + name.size())) {
      return true;
    }
  }
  return false;
}

Symptom SymptomOfExpression(absl::string_view expression) {
  const bool large = absl::StrContains(expression, ">");
  for (const MeasureSymptom& row : kMeasureSymptoms) {
    if (Uses(expression, row.measure)) return large ? row.large : row.small;
  }
  return Symptom::kExpression;
}

std::optional<Symptom> SymptomOf(absl::string_view condition) {
  for (const ConditionSymptom& each : kSymptoms) {
    if (each.id == condition) return each.symptom;
  }
  // Comparisons of one measure, such as abs_max_gt.
  if (absl::EndsWith(condition, "_gt")) return Symptom::kTooLarge;
  if (absl::EndsWith(condition, "_lt")) return Symptom::kTooSmall;
  return std::nullopt;
}

// "aten::log_" and "Log" are "log".
std::string BaseName(absl::string_view op_type) {
  const size_t colons = op_type.rfind("::");
  if (colons != absl::string_view::npos) op_type.remove_prefix(colons + 2);
  if (op_type.size() > 1) op_type = absl::StripSuffix(op_type, "_");
  return absl::AsciiStrToLower(op_type);
}

bool Contains(const std::vector<absl::string_view>& names,
              absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void Append(const Sentences& sentences, std::vector<std::string>& to) {
  for (const absl::string_view each : sentences) to.emplace_back(each);
}

void AppendGeneral(Symptom symptom, Advice& to) {
  for (const SymptomAdvice& row : GeneralAdvice()) {
    if (row.symptom != symptom) continue;
    Append(row.causes, to.causes);
    Append(row.next, to.next);
  }
}

}  // namespace

Advice AdviceForExpression(absl::string_view expression) {
  Advice advice;
  AppendGeneral(SymptomOfExpression(expression), advice);
  return advice;
}

Advice AdviceFor(absl::string_view id, absl::string_view op_type,
                 absl::string_view dtype) {
  Advice advice;
  const std::optional<Symptom> symptom = SymptomOf(id);
  if (!symptom) return advice;
  const std::string op = BaseName(op_type);
  for (const OpAdvice& row : AdviceOfOps()) {
    if (row.symptom == *symptom && Contains(row.ops, op) &&
        (row.dtypes.empty() || Contains(row.dtypes, dtype))) {
      Append(row.causes, advice.causes);
      Append(row.next, advice.next);
    }
  }
  AppendGeneral(*symptom, advice);
  return advice;
}

}  // namespace graphdbg::conditions
