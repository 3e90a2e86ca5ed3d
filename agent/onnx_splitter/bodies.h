// Subgraphs of nodes: the branches of If, the bodies of Loop and Scan.
#ifndef AGENT_ONNX_SPLITTER_BODIES_H_
#define AGENT_ONNX_SPLITTER_BODIES_H_

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace graphdbg::onnx_splitter {

// Why the nodes in the subgraphs of `node` cannot be run one by one; empty if
// they can (agent/python/graphdbg/_onnxruntime/control_flow.py runs them).
// `opset` is the version of ONNX's own op set.
std::string ReasonNotCaptured(const onnx::NodeProto& node, int64_t opset);

// The graph's inputs, without those that are initializers.
std::vector<const onnx::ValueInfoProto*> InputsOf(
    const onnx::GraphProto& graph);

// The value that `node` initially passes to input `index` of its subgraph;
// empty if the node computes that input itself, such as the iteration number.
std::string OuterInputOf(const onnx::NodeProto& node, size_t index);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_BODIES_H_
