#ifndef AGENT_ADAPTERS_PYTORCH_HOST_CALLS_H_
#define AGENT_ADAPTERS_PYTORCH_HOST_CALLS_H_

#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// What the agent asks of its host: memory to keep, the interpreter's lock to
// let go, tensors to resolve. Any thread.
graphdbg_host HostCalls();

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_HOST_CALLS_H_
