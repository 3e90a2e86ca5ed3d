// Likely causes of a match of a condition, and what to look at next.
#ifndef AGENT_CONDITIONS_ADVICE_H_
#define AGENT_CONDITIONS_ADVICE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphdbg::conditions {

// Sentences.
struct Advice {
  // The most likely cause first.
  std::vector<std::string> causes;
  // Things to look at or to try, in this order.
  std::vector<std::string> next;
};

// Advice about an expression that is true. It follows from the statistics that
// the expression uses. Any thread.
Advice AdviceForExpression(absl::string_view expression);

// Advice about a tensor that matches the condition `id`. The causes that are
// specific to the op come first. `op_type` is the op's type in any framework,
// such as "aten::log_" or "Log"; `dtype` is the tensor's, such as "float16".
// Both may be empty. Empty for an unknown condition. Any thread.
Advice AdviceFor(absl::string_view id, absl::string_view op_type,
                 absl::string_view dtype);

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_ADVICE_H_
