// The values of an initializer as plain little-endian bytes.
#ifndef AGENT_ONNX_SPLITTER_TENSOR_BYTES_H_
#define AGENT_ONNX_SPLITTER_TENSOR_BYTES_H_

#include <onnx/onnx_pb.h>

#include <string>

namespace graphdbg::onnx_splitter {

// Of a tensor that is neither external nor of strings, however the file holds
// them.
std::string BytesOf(const onnx::TensorProto& tensor);

// The tensor that a Constant node makes, under the name of its output; false if
// it makes something else.
bool TensorOfConstant(const onnx::NodeProto& node, onnx::TensorProto* tensor);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_TENSOR_BYTES_H_
