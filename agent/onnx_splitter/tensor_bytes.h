// The values of an initializer as plain little-endian bytes.
#ifndef AGENT_ONNX_SPLITTER_TENSOR_BYTES_H_
#define AGENT_ONNX_SPLITTER_TENSOR_BYTES_H_

#include <onnx/onnx_pb.h>

#include <string>

namespace graphdbg::onnx_splitter {

// The values of a tensor, from whichever field holds them. The tensor must be
// neither external nor of strings.
std::string BytesOf(const onnx::TensorProto& tensor);

// Stores the tensor that a Constant node produces, named after the node's
// output. Returns false if the node produces something else.
bool TensorOfConstant(const onnx::NodeProto& node, onnx::TensorProto* tensor);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_TENSOR_BYTES_H_
