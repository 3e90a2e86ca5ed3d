// Messages to the user at the terminal.
#ifndef AGENT_CORE_LOG_H_
#define AGENT_CORE_LOG_H_

#include "absl/strings/string_view.h"

namespace graphdbg::agent {

// Writes the line "graphdbg: ..." to stderr with a single write, with
// characters that would control the terminal replaced. Any thread.
void LogToStderr(absl::string_view line);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_LOG_H_
