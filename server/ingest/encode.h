// From the session's values to the wire's messages.
#ifndef SERVER_INGEST_ENCODE_H_
#define SERVER_INGEST_ENCODE_H_

#include <string>

#include "proto/graphdbg/v1/agent_service.pb.h"
#include "server/jobs/agent_port.h"

namespace graphdbg::ingest {

// What the server tells agents of itself.
struct ServerNames {
  std::string version;
  // Of the page; empty: there is none to tell.
  std::string page_address;
};

v1::ServerMessage Encode(const jobs::AgentOrder& order,
                         const ServerNames& names);

}  // namespace graphdbg::ingest

#endif  // SERVER_INGEST_ENCODE_H_
