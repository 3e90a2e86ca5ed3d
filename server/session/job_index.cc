// The graph as one file.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/gzip.h"
#include "server/graph/packed_graph.h"
#include "server/session/job_impl.h"
#include "server/session/strand_call.h"

namespace graphdbg::session {

// What the strand gives: the file, or what it is made of.
struct JobImpl::Packed {
  std::shared_ptr<const GraphFile> file;
  std::string columns;
  uint64_t graph_version = 0;
};

// Packing needs the graph and is quick; compressing takes several times as
// long and is done on the caller's executor.
Task<std::shared_ptr<const GraphFile>> JobImpl::Index(std::string graph) {
  const auto self = shared_from_this();
  absl::StatusOr<Packed> packed = co_await CallOn<absl::StatusOr<Packed>>(
      strand_, [self, graph] { return self->PackGraph(graph); });
  if (!packed.ok()) co_return packed.status();
  if (packed->file != nullptr) co_return packed->file;
  auto file = std::make_shared<GraphFile>();
  // A restarted server counts a graph's versions from the beginning.
  const uint64_t life = options_->journal ? options_->journal->life() : 0;
  file->version = absl::StrCat(absl::Hex(created_at_unix_nano_), "-", life, "-",
                               packed->graph_version);
  file->bytes = packed->columns.size();
  file->gzip = Gzip(packed->columns);
  const uint64_t version = packed->graph_version;
  co_await CallOn<bool>(strand_, [self, graph, version, file] {
    self->KeepIndex(graph, version, file);
    return true;
  });
  co_return file;
}

absl::StatusOr<JobImpl::Packed> JobImpl::PackGraph(const std::string& graph) {
  Packed packed;
  packed.graph_version = graph_.version();
  const graph::Graph* found = graph_.FindGraph(graph);
  const bool main = graph.empty() || graph == graph::kMainGraph;
  if (found == nullptr && main) {
    packed.columns = graph::PackEmptyGraph();
    return packed;
  }
  if (found == nullptr) return graph_.FindScope(graph, "").status();
  const auto kept = indices_.find(found->id);
  if (kept != indices_.end() &&
      kept->second.graph_version == packed.graph_version) {
    packed.file = kept->second.file;
  } else {
    packed.columns = graph::PackGraph(graph_, *found);
  }
  return packed;
}

void JobImpl::KeepIndex(const std::string& graph, uint64_t graph_version,
                        std::shared_ptr<const GraphFile> file) {
  const graph::Graph* found = graph_.FindGraph(graph);
  if (found == nullptr) return;
  KeptIndex& kept = indices_[found->id];
  if (kept.file != nullptr && kept.graph_version >= graph_version) return;
  kept = {graph_version, std::move(file)};
  NoteMemory();
}

}  // namespace graphdbg::session
