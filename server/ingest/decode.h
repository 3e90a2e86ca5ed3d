// Conversion of the wire's messages to the values of jobs. Messages must have
// been validated (proto/wire/validate.h).
#ifndef SERVER_INGEST_DECODE_H_
#define SERVER_INGEST_DECODE_H_

#include <string>

#include "proto/graphdbg/v1/agent_service.pb.h"
#include "server/jobs/agent_port.h"

namespace graphdbg::ingest {

jobs::AgentHello DecodeHello(const v1::Hello& hello, std::string peer);

// Converts any message except Hello. `data` is that of a TensorData message.
// May move strings out of the message.
jobs::AgentReport DecodeReport(v1::AgentMessage& message, absl::Cord data = {});

}  // namespace graphdbg::ingest

#endif  // SERVER_INGEST_DECODE_H_
