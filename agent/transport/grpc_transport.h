// Carries the agent's messages over gRPC. The only room that knows it.
#ifndef AGENT_TRANSPORT_GRPC_TRANSPORT_H_
#define AGENT_TRANSPORT_GRPC_TRANSPORT_H_

#include <memory>

#include "agent/core/config.h"
#include "agent/core/link.h"

namespace graphdbg::agent {

// Dials the server of `config` whenever there is no stream, with its token as
// bearer token if there is one. Two threads: one dials and sends, one receives.
std::unique_ptr<Transport> MakeGrpcTransport(const Config& config);

}  // namespace graphdbg::agent

#endif  // AGENT_TRANSPORT_GRPC_TRANSPORT_H_
