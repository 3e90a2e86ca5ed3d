// Attributes of ONNX nodes for people, and what is known of ops.
#ifndef AGENT_ONNX_SPLITTER_ATTRIBUTES_H_
#define AGENT_ONNX_SPLITTER_ATTRIBUTES_H_

#include <onnx/onnx_pb.h>

#include <string>

namespace graphdbg::onnx_splitter {

// As "[1, 1]" or "SAME_UPPER"; long ones are cut.
std::string TextOf(const onnx::AttributeProto& attribute);

// Whether an op only moves values about: it cannot be where a NaN came from.
bool MovesValues(const onnx::NodeProto& node);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_ATTRIBUTES_H_
