// Attributes of ONNX nodes as text, and properties of ops.
#ifndef AGENT_ONNX_SPLITTER_ATTRIBUTES_H_
#define AGENT_ONNX_SPLITTER_ATTRIBUTES_H_

#include <onnx/onnx_pb.h>

#include <string>

namespace graphdbg::onnx_splitter {

// The attribute's value for display, such as "[1, 1]" or "SAME_UPPER"; long
// values are truncated.
std::string TextOf(const onnx::AttributeProto& attribute);

// Whether the op only copies values and therefore cannot be the origin of a
// NaN.
bool MovesValues(const onnx::NodeProto& node);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_ATTRIBUTES_H_
