#ifndef AGENT_ADAPTERS_PYTORCH_HOOKS_INTERPRETER_H_
#define AGENT_ADAPTERS_PYTORCH_HOOKS_INTERPRETER_H_

#include "agent/adapters/pytorch/hooks/state.h"

namespace graphdbg::hooks {

// What the adapter gets from Python; lives as long as the process.
const graphdbg_interpreter* Interpreter();

// Turns what a call that may have waited returned into Python's terms: false,
// with an exception set, if the program is to end.
bool CheckStatus(graphdbg_status status);

}  // namespace graphdbg::hooks

#endif  // AGENT_ADAPTERS_PYTORCH_HOOKS_INTERPRETER_H_
