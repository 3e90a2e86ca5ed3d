// The arguments of an op that are not tensors, as attributes of its node.
#ifndef AGENT_ADAPTERS_PYTORCH_SCALAR_ARGUMENTS_H_
#define AGENT_ADAPTERS_PYTORCH_SCALAR_ARGUMENTS_H_

#include <string>
#include <utility>
#include <vector>

#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/op_values.h"

namespace graphdbg::pytorch {

// Names and values, in Python's notation.
using ScalarArguments = std::vector<std::pair<std::string, std::string>>;

// Numbers, strings and lists of numbers among the arguments, and numbers that
// PyTorch has made tensors of, such as the 8 of `x * 8`. Called once per node.
ScalarArguments ScalarArgumentsOf(const OpInfo& op, OpValues arguments);

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_SCALAR_ARGUMENTS_H_
