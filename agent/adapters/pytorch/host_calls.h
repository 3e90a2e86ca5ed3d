#ifndef AGENT_ADAPTERS_PYTORCH_HOST_CALLS_H_
#define AGENT_ADAPTERS_PYTORCH_HOST_CALLS_H_

#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// The callbacks that the agent calls: retain memory, release the interpreter's
// lock during waits, resolve tensors, and others. Thread-safe.
graphdbg_host HostCalls();

// From now on, storages that the agent releases are leaked. Any thread.
void LeakStorages();

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_HOST_CALLS_H_
