// Parts of the agent's messages, from what the program and the kernels give.
#ifndef AGENT_CORE_MESSAGE_PARTS_H_
#define AGENT_CORE_MESSAGE_PARTS_H_

#include <string>

#include "agent/include/graphdbg/agent.h"
#include "agent/kernels/statistics.h"
#include "proto/graphdbg/v1/tensor.pb.h"

namespace graphdbg::agent {

// Valid UTF-8 of the length that the wire allows; "" for null.
std::string ValidText(const char* text);

v1::Statistics ToProto(const Statistics& statistics);
v1::TensorType TypeOf(const graphdbg_tensor& tensor);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_MESSAGE_PARTS_H_
