#ifndef AGENT_ADAPTERS_PYTORCH_HOOKS_INTERPRETER_H_
#define AGENT_ADAPTERS_PYTORCH_HOOKS_INTERPRETER_H_

#include "agent/adapters/pytorch/hooks/state.h"

namespace graphdbg::hooks {

// The functions that the adapter calls; lives as long as the process.
const graphdbg_interpreter* Interpreter();

// Handles the status of a call that may have waited. Returns false, with an
// exception set, if the program has to end.
bool CheckStatus(graphdbg_status status);

}  // namespace graphdbg::hooks

#endif  // AGENT_ADAPTERS_PYTORCH_HOOKS_INTERPRETER_H_
