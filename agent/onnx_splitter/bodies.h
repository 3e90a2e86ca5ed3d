// Graphs inside nodes: the branches of an If, the bodies of Loop and Scan.
#ifndef AGENT_ONNX_SPLITTER_BODIES_H_
#define AGENT_ONNX_SPLITTER_BODIES_H_

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace graphdbg::onnx_splitter {

// Why the nodes inside such a node cannot be run one by one; empty if they can,
// which agent/python/graphdbg/_onnxruntime/control_flow.py does. `opset` is
// that of ONNX's own ops.
std::string WhyNotFollowed(const onnx::NodeProto& node, int64_t opset);

// The inputs of a graph that are no initializers.
std::vector<const onnx::ValueInfoProto*> InputsOf(
    const onnx::GraphProto& graph);

// What the node hands to the input of this index of the graph inside it, at
// first; empty where it is a value of the node's own, as the iteration number.
std::string GivenTo(const onnx::NodeProto& node, size_t index);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_BODIES_H_
