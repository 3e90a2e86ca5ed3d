#ifndef AGENT_ADAPTERS_PYTORCH_DEVICE_STREAMS_H_
#define AGENT_ADAPTERS_PYTORCH_DEVICE_STREAMS_H_

#include <cstdint>

#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// The vendor's handle of the stream on which PyTorch enqueues this thread's ops
// on the device. Queries PyTorch's library for the device if it is loaded; the
// adapter does not link to it. On an NPU, the framework queues ops itself:
// waits until they are executed and returns null.
void* CurrentStream(graphdbg_device device, int32_t device_id);

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_DEVICE_STREAMS_H_
