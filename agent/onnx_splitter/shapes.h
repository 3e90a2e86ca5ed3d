// Types and shapes of a model's values, as far as ONNX's shape inference can
// determine them without running the model.
#ifndef AGENT_ONNX_SPLITTER_SHAPES_H_
#define AGENT_ONNX_SPLITTER_SHAPES_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace graphdbg::onnx_splitter {

struct TensorType {
  // A value of onnx::TensorProto::DataType.
  int element = 0;
  bool has_shape = false;
  // Sizes as text: numbers, names of symbolic sizes, or "?".
  std::vector<std::string> shape;
};

struct Shapes {
  // By value name, including values in subgraphs.
  std::unordered_map<std::string, TensorType> types;
  // Messages of the checker and of shape inference, one line each.
  std::vector<std::string> findings;
};

// Adds inferred shapes to `model`. Never fails: shapes that the library cannot
// infer (newer opsets, other domains) remain unknown.
Shapes InferShapes(onnx::ModelProto* model);

// The version of ONNX's own op set that the model imports; 0 if none.
int64_t OpsetOf(const onnx::ModelProto& model);

// Converts text to a single line of at most 500 bytes.
std::string OneLine(std::string text);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_SHAPES_H_
