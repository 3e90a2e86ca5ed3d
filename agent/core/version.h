// The agent's version.
#ifndef AGENT_CORE_VERSION_H_
#define AGENT_CORE_VERSION_H_

namespace graphdbg::agent {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_VERSION_H_
