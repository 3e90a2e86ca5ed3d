// Validation of messages. Each side validates every message that it receives
// before it does anything else: nothing is assumed about a peer.
//
// Rules that depend on earlier messages (Hello comes first, node ids are
// declared) are checked by the session. Errors are INVALID_ARGUMENT or
// RESOURCE_EXHAUSTED and name the field and the limit.
#ifndef PROTO_WIRE_VALIDATE_H_
#define PROTO_WIRE_VALIDATE_H_

#include <cstddef>

#include "absl/status/status.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::wire {

// `data_bytes` is the size of the tensor data stored outside the message, see
// frame.h.
absl::Status Validate(const v1::AgentMessage& message, size_t data_bytes = 0);
absl::Status Validate(const v1::ServerMessage& message);

}  // namespace graphdbg::wire

#endif  // PROTO_WIRE_VALIDATE_H_
