// The agent's only words to the people at the terminal.
#ifndef AGENT_CORE_LOG_H_
#define AGENT_CORE_LOG_H_

#include "absl/strings/string_view.h"

namespace graphdbg::agent {

// One line "graphdbg: ..." on stderr, in one piece. Any thread.
void LogToStderr(absl::string_view line);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_LOG_H_
