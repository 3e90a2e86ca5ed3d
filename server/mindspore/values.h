// Values that a graph carries: constants and attributes.
#ifndef SERVER_MINDSPORE_VALUES_H_
#define SERVER_MINDSPORE_VALUES_H_

#include <optional>
#include <string>

#include "proto/mindspore/graph.pb.h"
#include "server/model/tensor.h"

namespace graphdbg::mindspore {

// A whole tensor, row major, little endian.
struct Value {
  model::TensorType type;
  std::string data;
};

// Absent for what is no tensor and no number, and for tensors without content.
std::optional<Value> ValueOf(const debugger::ValueProto& value);

// For people, as "[1, 2]"; cut off where it gets long. Valid UTF-8.
std::string TextOf(const debugger::ValueProto& value);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_VALUES_H_
