// A model's graph as the messages that an agent would send to the server.
#ifndef AGENT_ONNX_SPLITTER_GRAPH_MESSAGES_H_
#define AGENT_ONNX_SPLITTER_GRAPH_MESSAGES_H_

#include <onnx/onnx_pb.h>

#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace graphdbg::onnx_splitter {

// Writes length-delimited v1::AgentMessages: the graph's nodes and scopes, with
// names that begin with `name`, and the checker's findings as log messages.
// Opens no files; uses only the shapes of weights. Returns INVALID_ARGUMENT,
// with one line that names the node, if the graph is invalid.
absl::Status WriteGraph(onnx::ModelProto model, const std::string& name,
                        std::ostream* out);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_GRAPH_MESSAGES_H_
