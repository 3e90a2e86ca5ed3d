// Why the kernel refuses to let this process trace another one.
#ifndef AGENT_INJECT_PERMISSION_H_
#define AGENT_INJECT_PERMISSION_H_

#include <sys/types.h>

#include "absl/status/status.h"

namespace graphdbg::inject {

// Explains EPERM. The codes are "traced", "yama", "container", "not_dumpable".
absl::Status ExplainRefusal(pid_t pid);

}  // namespace graphdbg::inject

#endif  // AGENT_INJECT_PERMISSION_H_
