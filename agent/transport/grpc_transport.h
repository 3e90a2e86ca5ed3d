// Carries the agent's messages over gRPC. No other part of the agent uses gRPC.
#ifndef AGENT_TRANSPORT_GRPC_TRANSPORT_H_
#define AGENT_TRANSPORT_GRPC_TRANSPORT_H_

#include <memory>

#include "agent/core/config.h"
#include "agent/core/link.h"

namespace graphdbg::agent {

// Connects to the server of `config` whenever no stream is open, with its token
// as bearer token if there is one. Uses two threads: one connects and sends,
// the other receives.
std::unique_ptr<Transport> MakeGrpcTransport(const Config& config);

}  // namespace graphdbg::agent

#endif  // AGENT_TRANSPORT_GRPC_TRANSPORT_H_
