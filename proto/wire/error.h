// Conversion between absl::Status and errors on the wire. The stable,
// machine-readable reason is the status's payload "graphdbg/reason".
#ifndef PROTO_WIRE_ERROR_H_
#define PROTO_WIRE_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/graphdbg/v1/tensor.pb.h"

namespace graphdbg::wire {

inline constexpr char kReasonPayload[] = "graphdbg/reason";

// `reason` is an identifier such as "unknown_node".
absl::Status MakeError(absl::StatusCode code, absl::string_view reason,
                       absl::string_view message);

// The status's reason; empty if it has none.
std::string ReasonOf(const absl::Status& status);

// `status` must not be OK.
v1::Error ToError(const absl::Status& status);

// Never returns OK: invalid codes become UNKNOWN.
absl::Status FromError(const v1::Error& error);

}  // namespace graphdbg::wire

#endif  // PROTO_WIRE_ERROR_H_
