// The capabilities of this server on the agents' wire.
#ifndef SERVER_INGEST_CAPABILITIES_H_
#define SERVER_INGEST_CAPABILITIES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::ingest {

const std::vector<std::string>& OwnCapabilities();

// FAILED_PRECONDITION, naming the versions of both sides, if agent and server
// are not compatible.
absl::Status CheckCapabilities(const v1::Hello& hello,
                               const std::string& server_version);

}  // namespace graphdbg::ingest

#endif  // SERVER_INGEST_CAPABILITIES_H_
