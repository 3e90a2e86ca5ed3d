// Errors of a stream that mean that the server does not want this agent.
#ifndef AGENT_CORE_REFUSAL_H_
#define AGENT_CORE_REFUSAL_H_

#include <string>

#include "absl/status/status.h"
#include "agent/core/config.h"

namespace graphdbg::agent {

// "host:port" of the server, or the path of its socket.
std::string ServerAddress(const Config& config);

// Whether the server refused the stream, so that another attempt would fail in
// the same way. A process that was `accepted` before has a right to its rank:
// if another process is in its place, that one may leave.
bool IsRefusal(const absl::Status& status, bool accepted);

// A line for the user that explains a refusal and what can be done about it.
std::string RefusalMessage(const Config& config, const absl::Status& status);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_REFUSAL_H_
