// Parameters that requests for tensors share.
#ifndef SERVER_API_TENSOR_ARGUMENTS_H_
#define SERVER_API_TENSOR_ARGUMENTS_H_

#include <optional>
#include <string>

#include "server/api/arguments.h"
#include "server/model/tensor.h"

namespace graphdbg::api {

// Limit for the data that one response contains.
inline constexpr uint64_t kMaxTensorBytes = uint64_t{256} << 20;

// Reads "name", "rank" and "step".
model::TensorQuery ReadTensorQuery(Arguments& arguments);

// Parses "node:slot" into the query. The name of the node may contain colons.
bool ParseTensorName(const std::string& name, model::TensorQuery& query);

// Parses "current", "previous" or a number into the query, which stays as it is
// if the text is none of these.
bool ParseStep(const std::string& text, model::TensorQuery& query);

std::optional<uint64_t> ParseNumber(const std::string& text);

}  // namespace graphdbg::api

#endif  // SERVER_API_TENSOR_ARGUMENTS_H_
