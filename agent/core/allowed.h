// The operations that the job's owner allows a server (GRAPHDBG_ALLOW,
// GRAPHDBG_REDACT).
#ifndef AGENT_CORE_ALLOWED_H_
#define AGENT_CORE_ALLOWED_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/conditions/pattern_set.h"

namespace graphdbg::v1 {
class ServerMessage;
}

namespace graphdbg::agent {

// The server may be compromised, or the wrong one, so the agent itself refuses
// the orders that are beyond this.
struct Allowed {
  // Read values of tensors. Without it the server gets the graph, statistics
  // and no values.
  bool view = true;
  // Set watchpoints, pause, step and continue.
  bool control = true;
  bool terminate = true;
  // Write to the job's tensors and settings, and record it.
  bool change = true;
  // Names of nodes whose values are not sent; their statistics are.
  conditions::PatternSet redacted;

  bool all() const { return view && control && terminate && change; }
};

// Whether the values of a node may be sent.
inline bool MayRead(const Allowed& allowed, absl::string_view node) {
  return allowed.view && !allowed.redacted.Matches(node);
}

// PERMISSION_DENIED "not_allowed_by_job" if `message` orders more than
// `allowed`.
absl::Status CheckAllowed(const Allowed& allowed,
                          const v1::ServerMessage& message);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_ALLOWED_H_
