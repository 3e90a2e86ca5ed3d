// Takes a model apart, so that its graph can be shown and any range of its
// nodes be run by itself.
#ifndef AGENT_ONNX_SPLITTER_SPLIT_H_
#define AGENT_ONNX_SPLITTER_SPLIT_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"

namespace graphdbg::onnx_splitter {

struct SplitOptions {
  // All names of nodes begin with it.
  std::string name;
  // Where the files go; it exists.
  std::filesystem::path folder;
};

// Writes, for the model in `file`:
//
//   model.json   what there is to declare, and the graph with its nodes in
//                executable order and the graphs inside them; who reads it is
//                agent/python/graphdbg/_onnxruntime/node_graph.py
//   parts.bin    nodes and initializers in ONNX's own encoding, by offset
//   weights.bin  values of initializers that the model held itself; pieces of
//                the model refer to them, so that no piece has a copy
//
// INVALID_ARGUMENT, in one line that names the node, if the model cannot be
// used.
absl::Status Split(const std::filesystem::path& file,
                   const SplitOptions& options);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_SPLIT_H_
