// A model's graph, as an agent would tell it to the server.
#ifndef AGENT_ONNX_SPLITTER_GRAPH_MESSAGES_H_
#define AGENT_ONNX_SPLITTER_GRAPH_MESSAGES_H_

#include <onnx/onnx_pb.h>

#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace graphdbg::onnx_splitter {

// Writes v1::AgentMessages, each after its size: the graph's nodes and scopes,
// whose names begin with `name`, and what the checker found as log lines.
// Opens no files; of weights only the shapes count. INVALID_ARGUMENT, in one
// line that names the node, if the model has no graph that can be shown.
absl::Status WriteGraph(onnx::ModelProto model, const std::string& name,
                        std::ostream* out);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_GRAPH_MESSAGES_H_
