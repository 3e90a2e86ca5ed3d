// Carries the agent's messages over gRPC. The only room that knows it.
#ifndef AGENT_TRANSPORT_GRPC_TRANSPORT_H_
#define AGENT_TRANSPORT_GRPC_TRANSPORT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "agent/core/link.h"

namespace graphdbg::agent {

// Dials `host:port` whenever there is no stream, with `token` as bearer token
// if it is not empty. Two threads: one dials and sends, one receives.
std::unique_ptr<Transport> MakeGrpcTransport(const std::string& host,
                                             uint16_t port,
                                             const std::string& token);

}  // namespace graphdbg::agent

#endif  // AGENT_TRANSPORT_GRPC_TRANSPORT_H_
