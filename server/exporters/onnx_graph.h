// A job's graph as an ONNX model: structure, types and attributes, no values.
//
// Any ONNX viewer shows it; no runtime runs it, since its ops are the
// framework's. A tensor is called NODE:SLOT. ONNX wants producers before
// consumers: an op that takes what one after it made, in the step before, takes
// the model's input NODE:SLOT@previous.
#ifndef SERVER_EXPORTERS_ONNX_GRAPH_H_
#define SERVER_EXPORTERS_ONNX_GRAPH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/model/graph.h"

namespace graphdbg::exporters {

struct OnnxOptions {
  std::string graph;
  std::string producer_version;
};

// The bytes of a ModelProto. RESOURCE_EXHAUSTED "graph_too_large" if it would
// be over the 2 GiB that protobuf allows.
absl::StatusOr<std::string> ToOnnx(const std::vector<model::ExportNode>& nodes,
                                   const OnnxOptions& options);

}  // namespace graphdbg::exporters

#endif  // SERVER_EXPORTERS_ONNX_GRAPH_H_
