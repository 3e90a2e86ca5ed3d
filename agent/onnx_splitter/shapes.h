// Types and shapes of a model's values as far as they are known without
// running it, by ONNX's own checker and shape inference.
#ifndef AGENT_ONNX_SPLITTER_SHAPES_H_
#define AGENT_ONNX_SPLITTER_SHAPES_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace graphdbg::onnx_splitter {

struct TensorType {
  // onnx::TensorProto::DataType.
  int element = 0;
  bool has_shape = false;
  // Sizes as people read them: numbers, names of sizes that vary, "?".
  std::vector<std::string> shape;
};

struct Shapes {
  // By value, at the top and in subgraphs.
  std::unordered_map<std::string, TensorType> types;
  // What the checker and the inference have to say, in one line each.
  std::vector<std::string> findings;
};

// Adds what it infers to `model`. Never fails: what the library does not know
// (newer opsets, other domains) stays unknown.
Shapes InferShapes(onnx::ModelProto* model);

// The version of ONNX's own ops that the model imports; 0: none.
int64_t OpsetOf(const onnx::ModelProto& model);

// As a line of text: no breaks, at most 500 bytes.
std::string OneLine(std::string text);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_SHAPES_H_
