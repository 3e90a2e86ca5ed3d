// A model prepared for display or splitting: functions inlined, Constant nodes
// replaced by initializers, nodes in execution order.
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
  // The removed Constant nodes, by the names of their outputs.
  std::map<std::string, onnx::NodeProto> constants;
};

// Errors name the node at fault.
absl::StatusOr<PreparedModel> Prepare(onnx::ModelProto model);

// Declares all parts of the model. The declarations' types must be set.
void Declare(const PreparedModel& model, Declarations* declarations);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_PREPARED_MODEL_H_
