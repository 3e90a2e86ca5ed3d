#ifndef AGENT_ADAPTERS_PYTORCH_CPP_NATIVE_STACK_H_
#define AGENT_ADAPTERS_PYTORCH_CPP_NATIVE_STACK_H_

#include <cstddef>

#include "graphdbg/agent.h"

namespace graphdbg::cpp {

// The calling thread's C++ stack, innermost frame first. Excludes frames of the
// debugger, of system libraries and of PyTorch, except for one frame that marks
// the autograd engine. Files and lines require debug information, function
// names require symbols. The strings live as long as the process.
//
// Thread-safe. Reads the debug information once.
size_t NativeStack(graphdbg_source_frame* out, size_t max);

}  // namespace graphdbg::cpp

#endif  // AGENT_ADAPTERS_PYTORCH_CPP_NATIVE_STACK_H_
