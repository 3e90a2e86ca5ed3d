// Assembles graphs from the chunks in which clients send them.
#ifndef SERVER_MINDSPORE_GRAPH_ASSEMBLY_H_
#define SERVER_MINDSPORE_GRAPH_ASSEMBLY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/mindspore/debugger.pb.h"

namespace graphdbg::mindspore {

// Handles one call of SendGraph or SendMultiGraphs. Works around two bugs of
// clients 1.1 to 1.3 with graphs of several chunks: the last chunk may be sent
// twice, and a chunk in the middle may be marked as the last one.
class GraphAssembly {
 public:
  // The size of all chunks except for the last one of a graph.
  static constexpr size_t kPieceBytes = 3'145'728;
  // Limit for all graphs of one call.
  static constexpr size_t kMaxBytes = size_t{256} << 20;

  // RESOURCE_EXHAUSTED if the graphs exceed kMaxBytes.
  absl::Status Add(const debugger::Chunk& chunk);

  // Returns the graphs after the last chunk, and resets this object.
  // INVALID_ARGUMENT if a graph is incomplete or malformed.
  absl::StatusOr<std::vector<debugger::GraphProto>> Take();

 private:
  bool TakeGraph();

  size_t bytes_ = 0;
  // The chunks of the current graph.
  std::string buffer_;
  std::string last_piece_;
  std::vector<debugger::GraphProto> graphs_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_GRAPH_ASSEMBLY_H_
