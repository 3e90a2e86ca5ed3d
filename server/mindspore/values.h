// Values in graphs: constants and attributes.
#ifndef SERVER_MINDSPORE_VALUES_H_
#define SERVER_MINDSPORE_VALUES_H_

#include <optional>
#include <string>

#include "proto/mindspore/graph.pb.h"
#include "server/model/tensor.h"

namespace graphdbg::mindspore {

// A whole tensor, in row-major order and little-endian.
struct Value {
  model::TensorType type;
  std::string data;
};

// Absent if the value is neither a tensor with content nor a number.
std::optional<Value> ValueOf(const debugger::ValueProto& value);

// A readable form such as "[1, 2]", truncated if it is long. Valid UTF-8.
std::string TextOf(const debugger::ValueProto& value);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_VALUES_H_
