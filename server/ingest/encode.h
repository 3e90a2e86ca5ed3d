// Conversion of orders to the wire's messages.
#ifndef SERVER_INGEST_ENCODE_H_
#define SERVER_INGEST_ENCODE_H_

#include <string>

#include "proto/graphdbg/v1/agent_service.pb.h"
#include "server/jobs/agent_port.h"

namespace graphdbg::ingest {

// The server's description of itself in the welcome message.
struct ServerInfo {
  std::string version;
  // Address of the page. Empty if agents should not print one.
  std::string page_address;
};

v1::ServerMessage Encode(const jobs::AgentOrder& order,
                         const ServerInfo& server_info);

}  // namespace graphdbg::ingest

#endif  // SERVER_INGEST_ENCODE_H_
