#ifndef AGENT_ADAPTERS_PYTORCH_EXPLICIT_FILL_H_
#define AGENT_ADAPTERS_PYTORCH_EXPLICIT_FILL_H_

#include <ATen/core/ivalue.h>

namespace graphdbg::pytorch {

// True if an argument is a non-finite number, or a tensor of one infinite
// number in host memory: the caller asked for it. (A tensor of one NaN rather
// is a result that went wrong.)
bool NamesNonFinite(c10::ArrayRef<c10::IValue> arguments);

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_EXPLICIT_FILL_H_
