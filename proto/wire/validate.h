// Whether a message keeps to the wire's rules. Each side calls it on what it
// receives, before anything else: nothing is assumed about a peer.
//
// What needs a session's memory (is Hello first, is the node known) is up to
// the session. Errors are INVALID_ARGUMENT or RESOURCE_EXHAUSTED and name the
// field and the limit.
#ifndef PROTO_WIRE_VALIDATE_H_
#define PROTO_WIRE_VALIDATE_H_

#include <cstddef>

#include "absl/status/status.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::wire {

// `data_bytes`: those of a tensor that are not in the message (frame.h).
absl::Status Validate(const v1::AgentMessage& message, size_t data_bytes = 0);
absl::Status Validate(const v1::ServerMessage& message);

}  // namespace graphdbg::wire

#endif  // PROTO_WIRE_VALIDATE_H_
