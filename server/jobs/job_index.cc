// The graph as one file.
#include <boost/asio/post.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/gzip.h"
#include "server/graph/packed_graph.h"
#include "server/jobs/job_impl.h"
#include "server/jobs/strand_call.h"

namespace graphdbg::jobs {

// The file if there is one, else what it is made of.
struct JobImpl::Packed {
  std::shared_ptr<const model::GraphFile> file;
  std::string columns;
  uint64_t graph_version = 0;
};

Task<std::shared_ptr<const model::GraphFile>> JobImpl::Index(
    std::string graph) {
  using Result = absl::StatusOr<std::shared_ptr<const model::GraphFile>>;
  return StartOn<Result>(strand_,
                         [self = shared_from_this(), graph = std::move(graph)](
                             std::function<void(Result)> complete) {
                           self->StartIndex(graph, std::move(complete));
                         });
}

// Packing needs the graph; compressing does not, and need not keep the job's
// strand waiting.
void JobImpl::StartIndex(const std::string& graph, IndexDone complete) {
  absl::StatusOr<Packed> packed = PackGraph(graph);
  if (!packed.ok()) return complete(packed.status());
  if (packed->file != nullptr) return complete(packed->file);
  boost::asio::post(
      strand_.get_inner_executor(),
      [self = shared_from_this(), graph, columns = std::move(packed->columns),
       version = packed->graph_version, complete = std::move(complete)] {
        auto file = std::make_shared<model::GraphFile>();
        file->version = self->IndexVersion(version);
        file->bytes = columns.size();
        file->gzip = Gzip(columns);
        boost::asio::post(self->strand_,
                          [self, graph, version, file, complete] {
                            self->KeepIndex(graph, version, file);
                            complete(file);
                          });
      });
}

std::string JobImpl::IndexVersion(uint64_t graph_version) const {
  // A restarted server counts a graph's versions from the beginning.
  const uint64_t life = options_->journal ? options_->journal->life() : 0;
  return absl::StrCat(absl::Hex(created_at_unix_nano_), "-", life, "-",
                      graph_version);
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
                        std::shared_ptr<const model::GraphFile> file) {
  const graph::Graph* found = graph_.FindGraph(graph);
  if (found == nullptr) return;
  KeptIndex& kept = indices_[found->id];
  if (kept.file != nullptr && kept.graph_version >= graph_version) return;
  kept = {graph_version, std::move(file)};
  NoteMemory();
}

}  // namespace graphdbg::jobs
