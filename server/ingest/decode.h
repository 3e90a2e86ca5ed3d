// From the wire's messages to the session's values. Messages were validated
// (proto/wire/validate.h) before.
#ifndef SERVER_INGEST_DECODE_H_
#define SERVER_INGEST_DECODE_H_

#include <string>

#include "proto/graphdbg/v1/agent_service.pb.h"
#include "server/jobs/agent_port.h"

namespace graphdbg::ingest {

jobs::AgentHello DecodeHello(const v1::Hello& hello, std::string peer);

// Anything but Hello; `data` is that of a tensor. May take the message's
// strings.
jobs::AgentReport DecodeReport(v1::AgentMessage& message, absl::Cord data = {});

}  // namespace graphdbg::ingest

#endif  // SERVER_INGEST_DECODE_H_
