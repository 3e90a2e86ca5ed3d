// Puts graphs together from the pieces in which they travel.
#ifndef SERVER_MINDSPORE_GRAPH_ASSEMBLY_H_
#define SERVER_MINDSPORE_GRAPH_ASSEMBLY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/mindspore/debugger.pb.h"

namespace graphdbg::mindspore {

// One call of SendGraph or SendMultiGraphs. Reads around two faults of clients
// 1.1 to 1.3 with graphs of more than one piece: the last piece may come twice,
// and a piece in the middle may say that it is the last.
class GraphAssembly {
 public:
  // Of all pieces but a graph's last.
  static constexpr size_t kPieceBytes = 3'145'728;
  // Bytes of all graphs of one call.
  static constexpr size_t kMaxBytes = size_t{1} << 30;

  // RESOURCE_EXHAUSTED beyond kMaxBytes.
  absl::Status Add(const debugger::Chunk& chunk);

  // After the last piece; empties this. INVALID_ARGUMENT if what is left is no
  // graph.
  absl::StatusOr<std::vector<debugger::GraphProto>> Take();

 private:
  bool TakeGraph();

  size_t bytes_ = 0;
  // Of the graph under way.
  std::string buffer_;
  std::string last_piece_;
  std::vector<debugger::GraphProto> graphs_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_GRAPH_ASSEMBLY_H_
