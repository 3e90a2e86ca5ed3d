// What requests about tensors have in common.
#ifndef SERVER_API_TENSOR_ARGUMENTS_H_
#define SERVER_API_TENSOR_ARGUMENTS_H_

#include <optional>
#include <string>

#include "server/api/arguments.h"
#include "server/model/tensor.h"

namespace graphdbg::api {

// In one answer, as bytes or as what is computed from them.
inline constexpr uint64_t kMaxTensorBytes = uint64_t{256} << 20;

// From "name", "rank" and "step".
model::TensorQuery ReadTensorQuery(Arguments& arguments);

// Splits "node:slot" into the query. Nodes' names may hold colons.
bool ParseTensorName(const std::string& name, model::TensorQuery& query);

std::optional<uint64_t> ParseNumber(const std::string& text);

}  // namespace graphdbg::api

#endif  // SERVER_API_TENSOR_ARGUMENTS_H_
