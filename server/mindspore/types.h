// Types of tensors: MindSpore's numbers and messages as the session's.
#ifndef SERVER_MINDSPORE_TYPES_H_
#define SERVER_MINDSPORE_TYPES_H_

#include <vector>

#include "agent/tensor/dtype.h"
#include "proto/mindspore/graph.pb.h"
#include "server/model/tensor.h"

namespace graphdbg::mindspore {

// kUnspecified for DT_UNDEFINED, kOther for what is no element type. Of any
// number: clients may be newer than this.
DType DTypeOf(int data_type);

// A scalar of this type; kOther carries MindSpore's own name or number.
model::TensorType ScalarOf(int data_type);

// One for each output of a node of this type. Where the shape is not known,
// the type is left empty, as an empty shape is a scalar's.
std::vector<model::Output> OutputsOf(const debugger::TypeProto& type);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_TYPES_H_
