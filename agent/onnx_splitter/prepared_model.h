// A model made ready to be shown or taken apart: its own functions inlined,
// what Constant nodes make as initializers, nodes in executable order.
#ifndef AGENT_ONNX_SPLITTER_PREPARED_MODEL_H_
#define AGENT_ONNX_SPLITTER_PREPARED_MODEL_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "agent/onnx_splitter/declarations.h"

namespace graphdbg::onnx_splitter {

struct PreparedModel {
  onnx::ModelProto proto;
  // Constant nodes, by the name of what they make.
  std::map<std::string, onnx::NodeProto> constants;
};

// Errors name the node.
absl::StatusOr<PreparedModel> Prepare(onnx::ModelProto model);

// All of the model; the declarations know its types, and then the numbers of
// its parts.
void Declare(const PreparedModel& model, Declarations* declarations);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_PREPARED_MODEL_H_
