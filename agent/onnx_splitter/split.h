// Splits a model so that its graph can be displayed and any range of its nodes
// can be run separately.
#ifndef AGENT_ONNX_SPLITTER_SPLIT_H_
#define AGENT_ONNX_SPLITTER_SPLIT_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"

namespace graphdbg::onnx_splitter {

struct SplitOptions {
  // The first component of all node names.
  std::string name;
  // The existing folder for the output files.
  std::filesystem::path folder;
};

// Writes, for the model in `file`:
//
//   model.json   the declarations, and the graph with its nodes in executable
//                order and their subgraphs; read by
//                agent/python/graphdbg/_onnxruntime/node_graph.py
//   parts.bin    nodes and initializers in ONNX's own encoding, by offset
//   weights.bin  values of the initializers stored in the model; pieces of the
//                model refer to this file instead of holding copies
//
// Returns INVALID_ARGUMENT, with one line that names the node, if the model is
// invalid.
absl::Status Split(const std::filesystem::path& file,
                   const SplitOptions& options);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_SPLIT_H_
