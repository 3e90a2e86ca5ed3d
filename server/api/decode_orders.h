// What clients order of a paused job besides moves: experiments and changes.
#ifndef SERVER_API_DECODE_ORDERS_H_
#define SERVER_API_DECODE_ORDERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/model/tensor.h"

namespace graphdbg::api {

// The body of POST /jobs/{job}/whatif.
struct WhatIfRequest {
  // Either a hit, or a tensor of a rank.
  std::optional<uint64_t> hit;
  model::TensorQuery query;
};
absl::StatusOr<WhatIfRequest> DecodeWhatIf(std::string_view body);

// The body of POST /jobs/{job}/change.
struct ChangeRequest {
  // Absent: all.
  std::optional<uint32_t> rank;
  model::TensorQuery query;
  // For the audit log.
  std::string description;
};
absl::StatusOr<ChangeRequest> DecodeChange(std::string_view body);

}  // namespace graphdbg::api

#endif  // SERVER_API_DECODE_ORDERS_H_
