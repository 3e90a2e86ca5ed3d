// The sentences of advice.h, by symptom and by op.
#ifndef AGENT_CONDITIONS_ADVICE_TABLE_H_
#define AGENT_CONDITIONS_ADVICE_TABLE_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace graphdbg::conditions {

using Sentences = std::vector<absl::string_view>;

// The common subject of a family of conditions.
enum class Symptom {
  kNonFinite,
  kTooLarge,
  kTooSmall,
  kAllZero,
  kUnchanged,
  kChangeTooLarge,
  kChangeTooSmall,
  kRange,
  kVariance,
  kInitialization,
  kInactive,
  kVanishingGradient,
  kLargeGradient,
  // Conditions of training.
  kGradientAlwaysZero,
  kGradientMissing,
  kNotOptimized,
  kNoEffect,
  kLearningRate,
  kNotReset,
  kLossDetached,
  kLossBroadcast,
  kNormalizedTwice,
  kConstantOutput,
  kWrongMode,
  kRepeatedBatch,
  kAutocast,
  kCast,
  kReplicas,
  // An expression without any more specific symptom.
  kExpression,
};

struct SymptomAdvice {
  Symptom symptom;
  Sentences causes;
  Sentences next;
};

// Advice that is specific to some ops.
struct OpAdvice {
  Symptom symptom;
  // Names without a namespace, in lower case.
  std::vector<absl::string_view> ops;
  // The dtypes of the tensor; empty: any.
  std::vector<absl::string_view> dtypes;
  Sentences causes;
  Sentences next;
};

// One row for each symptom. Exists until the process ends. Any thread.
const std::vector<SymptomAdvice>& GeneralAdvice();
const std::vector<OpAdvice>& AdviceOfOps();

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_ADVICE_TABLE_H_
