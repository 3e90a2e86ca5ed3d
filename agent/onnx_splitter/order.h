// Producers before consumers.
#ifndef AGENT_ONNX_SPLITTER_ORDER_H_
#define AGENT_ONNX_SPLITTER_ORDER_H_

#include <onnx/onnx_pb.h>

#include <set>
#include <string>

#include "absl/status/status.h"

namespace graphdbg::onnx_splitter {

// What a node reads: its inputs and what graphs inside it take from outside.
std::set<std::string> ReadsOf(const onnx::NodeProto& node);

// Orders the nodes of a graph, and of graphs inside its nodes, so that each
// comes after those that it reads from, otherwise as they stand.
// INVALID_ARGUMENT names a node of a cycle.
absl::Status SortNodes(onnx::GraphProto* graph);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_ORDER_H_
