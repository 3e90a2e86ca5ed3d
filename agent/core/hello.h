// The first message of each stream, which introduces this process.
#ifndef AGENT_CORE_HELLO_H_
#define AGENT_CORE_HELLO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/config.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::agent {

// The properties of the process that its adapter knows.
struct Identity {
  std::string framework;
  std::string framework_version;
  std::string device;
  int32_t device_id = 0;
  std::string job_name;
  // It tests the conditions of training itself.
  bool reports = false;
};

// Features of the wire and conditions that this agent supports, by name.
std::vector<std::string> AgentCapabilities();

// A random secret, by which the server recognizes the same process after a
// reconnect. Whoever knows it can take the process's place.
std::string NewIncarnation();

// `device` is the first accelerator that the program was seen to use, which
// takes precedence over the one in `identity`.
v1::Hello MakeHello(
    const Config& config, const Identity& identity,
    const std::string& incarnation,
    const std::optional<std::pair<std::string, int32_t>>& device,
    bool waits_at_start);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_HELLO_H_
