#include "server/jobs/graph_index_cache.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/gzip.h"
#include "server/graph/packed_graph.h"

namespace graphdbg::jobs {

GraphIndexCache::GraphIndexCache(const graph::GraphStore& graph,
                                 std::string version_prefix, TaskRunner& tasks,
                                 std::function<void()> changed)
    : graph_(graph),
      version_prefix_(std::move(version_prefix)),
      tasks_(tasks),
      changed_(std::move(changed)) {}

// Packing reads the graph, so it runs on the strand. Compression takes longer
// and does not.
void GraphIndexCache::Request(const std::string& graph, Callback done) {
  if (File current = FindCurrent(graph)) return done(std::move(current));
  auto packed = Pack(graph);
  if (!packed.ok()) return done(packed.status());
  tasks_.RunInBackground([this, graph, packed = *std::move(packed),
                          version = graph_.version(), prefix = version_prefix_,
                          post = tasks_.Poster(), done = std::move(done)] {
    auto file = std::make_shared<model::GraphFile>();
    file->version = absl::StrCat(prefix, version);
    file->bytes = packed.size();
    file->gzip = Gzip(packed);
    post([this, graph, version, file, done] {
      Keep(graph, version, file);
      done(file);
    });
  });
}

GraphIndexCache::File GraphIndexCache::FindCurrent(
    const std::string& graph) const {
  const graph::Graph* found = graph_.FindGraph(graph);
  if (found == nullptr) return nullptr;
  const auto entry = entries_.find(found->id);
  const bool current = entry != entries_.end() &&
                       entry->second.graph_version == graph_.version();
  return current ? entry->second.file : nullptr;
}

absl::StatusOr<std::string> GraphIndexCache::Pack(
    const std::string& graph) const {
  if (const graph::Graph* found = graph_.FindGraph(graph)) {
    return graph::PackGraph(graph_, *found);
  }
  // The main graph exists before its first node does.
  const bool is_main = graph.empty() || graph == graph::kMainGraph;
  if (is_main) return graph::PackEmptyGraph();
  return graph_.FindScope(graph, "").status();
}

void GraphIndexCache::Keep(const std::string& graph, uint64_t graph_version,
                           File file) {
  const graph::Graph* found = graph_.FindGraph(graph);
  if (found == nullptr) return;
  Entry& entry = entries_[found->id];
  if (entry.file != nullptr && entry.graph_version >= graph_version) return;
  entry = {graph_version, std::move(file)};
  changed_();
}

uint64_t GraphIndexCache::bytes() const {
  uint64_t bytes = 0;
  for (const auto& [graph, entry] : entries_) bytes += entry.file->gzip.size();
  return bytes;
}

}  // namespace graphdbg::jobs
