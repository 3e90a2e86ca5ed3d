#ifndef AGENT_ADAPTERS_PYTORCH_CPP_NATIVE_STACK_H_
#define AGENT_ADAPTERS_PYTORCH_CPP_NATIVE_STACK_H_

#include <cstddef>

#include "graphdbg/agent.h"

namespace graphdbg::cpp {

// The calling thread's C++ stack, innermost frame first, without frames of the
// debugger, the system's libraries and PyTorch, of which nothing is known but
// their names; one stands for the autograd engine. File and line where the
// program has debugging information, functions where it has symbols. The
// strings live as long as the process.
//
// Any thread. Reads each program's debugging information once.
size_t NativeStack(graphdbg_source_frame* out, size_t max);

}  // namespace graphdbg::cpp

#endif  // AGENT_ADAPTERS_PYTORCH_CPP_NATIVE_STACK_H_
