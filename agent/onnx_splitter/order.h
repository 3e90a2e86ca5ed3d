// Topological order of nodes.
#ifndef AGENT_ONNX_SPLITTER_ORDER_H_
#define AGENT_ONNX_SPLITTER_ORDER_H_

#include <onnx/onnx_pb.h>

#include <set>
#include <string>

#include "absl/status/status.h"

namespace graphdbg::onnx_splitter {

// The values that a node reads: its inputs and the outer values that its
// subgraphs use.
std::set<std::string> ReadsOf(const onnx::NodeProto& node);

// Sorts the nodes of a graph and of its subgraphs topologically; otherwise
// keeps their order. If there is a cycle, returns INVALID_ARGUMENT with the
// name of one of its nodes.
absl::Status SortNodes(onnx::GraphProto* graph);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_ORDER_H_
