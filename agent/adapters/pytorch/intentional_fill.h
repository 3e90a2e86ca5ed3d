#ifndef AGENT_ADAPTERS_PYTORCH_INTENTIONAL_FILL_H_
#define AGENT_ADAPTERS_PYTORCH_INTENTIONAL_FILL_H_

#include "agent/adapters/pytorch/op_values.h"

namespace graphdbg::pytorch {

// Whether the caller passed a non-finite number on purpose: an argument is a
// non-finite number or a scalar tensor in host memory that is infinite. A
// scalar tensor that is NaN is more likely to be an incorrect result.
bool HasIntentionalNonFinite(OpValues arguments);

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_INTENTIONAL_FILL_H_
