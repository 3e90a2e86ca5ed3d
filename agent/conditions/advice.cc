#include "agent/conditions/advice.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "agent/conditions/advice_table.h"

extern "C" const unsigned char graphdbg_advice[];
extern "C" const uint64_t graphdbg_advice_size;

namespace graphdbg::conditions {
namespace {

struct ConditionSymptom {
  absl::string_view id;
  Symptom symptom;
};

constexpr ConditionSymptom kSymptoms[] = {
    {"nan", "non_finite"},
    {"inf", "non_finite"},
    {"overflow", "non_finite"},
    {"tensor_overflow", "non_finite"},
    {"operator_overflow", "non_finite"},
    {"weight_overflow", "non_finite"},
    {"gradient_exploding", "non_finite"},
    {"tensor_too_large", "too_large"},
    {"weight_too_large", "too_large"},
    {"gradient_too_large", "large_gradient"},
    {"tensor_too_small", "too_small"},
    {"weight_too_small", "too_small"},
    {"gradient_vanishing", "vanishing_gradient"},
    {"tensor_all_zero", "all_zero"},
    {"tensor_not_changed", "unchanged"},
    {"weight_not_changed", "unchanged"},
    {"weight_change_too_large", "change_too_large"},
    {"weight_change_too_small", "change_too_small"},
    {"weight_initialization", "initialization"},
    {"tensor_range", "range"},
    {"activation_range", "range"},
    {"tensor_variance", "variance"},
    {"activation_inactive", "inactive"},
    {"gradient_always_zero", "gradient_always_zero"},
    {"gradient_missing", "gradient_missing"},
    {"parameter_not_optimized", "not_optimized"},
    {"update_without_effect", "no_effect"},
    {"learning_rate_not_positive", "learning_rate"},
    {"gradient_not_reset", "not_reset"},
    {"loss_detached", "loss_detached"},
    {"loss_broadcast", "loss_broadcast"},
    {"loss_normalized_twice", "normalized_twice"},
    {"loss_ignores_labels", "ignored_labels"},
    {"loss_wrong_dimension", "wrong_dimension"},
    {"output_constant", "constant_output"},
    {"wrong_mode", "wrong_mode"},
    {"batch_repeated", "repeated_batch"},
    {"autocast_without_effect", "autocast"},
    {"cast_without_effect", "cast"},
    {"replicas_differ", "replicas"},
    {"executed", "executed"},
    {"expression", "expression"},
};

// The sentences about a symptom whatever the op is.
struct SymptomAdvice {
  std::string symptom;
  Advice advice;
};

// The symptoms of a large and of a small value of a statistic that an
// expression uses.
struct MeasureSymptom {
  std::string measure;
  std::string large;
  std::string small;
};

struct GeneralAdvice {
  std::vector<SymptomAdvice> symptoms;
  // The first row that applies decides.
  std::vector<MeasureSymptom> measures;
};

// The embedded advice.json, which the Python package has, too.
const GeneralAdvice& General() {
  static const auto* const general = [] {
    auto* const read = new GeneralAdvice;
    const auto json = nlohmann::json::parse(
        graphdbg_advice, graphdbg_advice + graphdbg_advice_size);
    for (const auto& row : json["symptoms"]) {
      read->symptoms.push_back({row["id"], {row["causes"], row["next"]}});
    }
    for (const auto& row : json["measures"]) {
      read->measures.push_back({row["id"], row["large"], row["small"]});
    }
    return read;
  }();
  return *general;
}

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
  for (const MeasureSymptom& row : General().measures) {
    if (Uses(expression, row.measure)) return large ? row.large : row.small;
  }
  return "expression";
}

std::optional<Symptom> SymptomOf(absl::string_view condition) {
  for (const ConditionSymptom& each : kSymptoms) {
    if (each.id == condition) return each.symptom;
  }
  // Comparisons of one measure, such as abs_max_gt.
  if (absl::EndsWith(condition, "_gt")) return "too_large";
  if (absl::EndsWith(condition, "_lt")) return "too_small";
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

template <class Texts>
void Append(const Texts& sentences, std::vector<std::string>& to) {
  for (const auto& each : sentences) to.emplace_back(each);
}

void AppendGeneral(Symptom symptom, Advice& to) {
  for (const SymptomAdvice& row : General().symptoms) {
    if (row.symptom != symptom) continue;
    Append(row.advice.causes, to.causes);
    Append(row.advice.next, to.next);
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
