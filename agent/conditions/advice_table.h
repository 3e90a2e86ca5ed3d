// The sentences of advice.h about ops, by symptom.
#ifndef AGENT_CONDITIONS_ADVICE_TABLE_H_
#define AGENT_CONDITIONS_ADVICE_TABLE_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace graphdbg::conditions {

using Sentences = std::vector<absl::string_view>;

// The common subject of a family of conditions, as advice.json names it.
using Symptom = absl::string_view;

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

// Exists until the process ends. Any thread.
const std::vector<OpAdvice>& AdviceOfOps();

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_ADVICE_TABLE_H_
