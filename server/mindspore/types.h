// Converts MindSpore's tensor types.
#ifndef SERVER_MINDSPORE_TYPES_H_
#define SERVER_MINDSPORE_TYPES_H_

#include <vector>

#include "agent/tensor/dtype.h"
#include "proto/mindspore/graph.pb.h"
#include "server/model/tensor.h"

namespace graphdbg::mindspore {

// Returns kUnspecified for DT_UNDEFINED, and kOther for types that are not
// element types. Accepts any number, since clients may be newer than this
// server.
DType DTypeOf(int data_type);

// A scalar of this type; kOther carries MindSpore's own name or number.
model::TensorType ScalarOf(int data_type);

// Returns one entry for each output of a node of this type. If the shape is
// unknown, the dtype is left empty, because an empty shape means a scalar.
std::vector<model::Output> OutputsOf(const debugger::TypeProto& type);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_TYPES_H_
