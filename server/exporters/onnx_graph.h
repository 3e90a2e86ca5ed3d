// Exports a job's graph as an ONNX model with structure, types and attributes,
// but without values.
//
// ONNX viewers can show the model; runtimes cannot run it, because its ops are
// the framework's. A tensor is called NODE:SLOT. ONNX requires producers before
// consumers: an op that reads the output that a later op produced in the
// previous step reads the model's input NODE:SLOT@previous instead.
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

// Returns a serialized ModelProto. RESOURCE_EXHAUSTED "graph_too_large" if it
// would exceed protobuf's limit of 2 GiB.
absl::StatusOr<std::string> ToOnnx(const std::vector<model::ExportNode>& nodes,
                                   const OnnxOptions& options);

}  // namespace graphdbg::exporters

#endif  // SERVER_EXPORTERS_ONNX_GRAPH_H_
