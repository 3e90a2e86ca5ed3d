#ifndef AGENT_ADAPTERS_PYTORCH_DEVICE_STREAMS_H_
#define AGENT_ADAPTERS_PYTORCH_DEVICE_STREAMS_H_

#include <cstdint>

#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// The stream on which PyTorch puts this thread's ops on the device, as the
// vendor's own handle. Asks PyTorch's library of the device, if the process has
// it open: the adapter is not linked to it. Of an NPU, whose ops wait in a
// queue of the framework's first, it waits for these and gives null.
void* CurrentStream(graphdbg_device device, int32_t device_id);

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_DEVICE_STREAMS_H_
