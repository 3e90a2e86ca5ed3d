#include "server/mindspore/graph_assembly.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg::mindspore {

absl::Status GraphAssembly::Add(const debugger::Chunk& chunk) {
  bytes_ += chunk.buffer().size();
  if (bytes_ > kMaxBytes) {
    return Error(
        absl::StatusCode::kResourceExhausted, "graph_too_large",
        absl::StrCat("the graphs exceed the limit of ", kMaxBytes, " bytes"));
  }
  const bool sent_twice = chunk.finished() && !chunk.buffer().empty() &&
                          chunk.buffer() == last_piece_;
  if (!sent_twice) buffer_ += chunk.buffer();
  last_piece_ = chunk.buffer();
  // If the graph cannot be parsed yet, this was not the last chunk after all.
  if (chunk.finished()) TakeGraph();
  return absl::OkStatus();
}

bool GraphAssembly::TakeGraph() {
  if (buffer_.empty()) return true;
  debugger::GraphProto graph;
  if (!graph.ParseFromString(buffer_)) return false;
  // The graph was split between two nodes: its name follows the last node.
  if (!graph.has_name() && last_piece_.size() >= kPieceBytes) return false;
  graphs_.push_back(std::move(graph));
  buffer_.clear();
  last_piece_.clear();
  return true;
}

absl::StatusOr<std::vector<debugger::GraphProto>> GraphAssembly::Take() {
  const bool whole = TakeGraph();
  bytes_ = 0;
  buffer_.clear();
  last_piece_.clear();
  if (!whole) {
    return Error(absl::StatusCode::kInvalidArgument, "bad_graph",
                 "the graph is incomplete or malformed");
  }
  return std::exchange(graphs_, {});
}

}  // namespace graphdbg::mindspore
