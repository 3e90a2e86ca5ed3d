// Which server addresses are on this machine.
#ifndef AGENT_CORE_LOOPBACK_H_
#define AGENT_CORE_LOOPBACK_H_

#include <string>

namespace graphdbg::agent {

// Whether `host` is "localhost" or an address of the loopback interface, so
// that nothing sent to it leaves this machine. Other names are not resolved,
// because they may resolve to another address when they are dialed.
bool IsLoopback(const std::string& host);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_LOOPBACK_H_
