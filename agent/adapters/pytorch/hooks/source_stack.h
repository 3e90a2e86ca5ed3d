#ifndef AGENT_ADAPTERS_PYTORCH_HOOKS_SOURCE_STACK_H_
#define AGENT_ADAPTERS_PYTORCH_HOOKS_SOURCE_STACK_H_

#include "agent/adapters/pytorch/hooks/python_api.h"
#include "graphdbg/agent.h"

namespace graphdbg::hooks {

// Sets the directories of library code, a sequence of strings. Requires the
// interpreter's lock.
void SetLibraryDirectories(PyObject* directories);

// The calling thread's Python stack, innermost frame first. Takes the
// interpreter's lock. The strings live as long as the process.
size_t SourceStack(graphdbg_source_frame* out, size_t max);

}  // namespace graphdbg::hooks

#endif  // AGENT_ADAPTERS_PYTORCH_HOOKS_SOURCE_STACK_H_
