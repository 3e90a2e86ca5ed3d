// The graphs of a job as compressed files, for the page.
#ifndef SERVER_JOBS_GRAPH_INDEX_CACHE_H_
#define SERVER_JOBS_GRAPH_INDEX_CACHE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/task_runner.h"
#include "server/graph/graph_store.h"
#include "server/model/graph.h"

namespace graphdbg::jobs {

// Keeps the newest requested file of each graph until a newer one is requested.
// On the job's strand only; files are compressed in the background.
class GraphIndexCache {
 public:
  using File = std::shared_ptr<const model::GraphFile>;
  using Callback = std::function<void(absl::StatusOr<File>)>;

  // `version_prefix` distinguishes the versions of this graph from those of
  // other jobs and of earlier servers. `changed` is called when a file was
  // added.
  GraphIndexCache(const graph::GraphStore& graph, std::string version_prefix,
                  TaskRunner& tasks, std::function<void()> changed);

  // Calls `done` once with the file of a graph as it is now. NOT_FOUND
  // "unknown_graph".
  void Request(const std::string& graph, Callback done);

  // The size of all files.
  uint64_t bytes() const;

 private:
  struct Entry {
    uint64_t graph_version = 0;
    File file;
  };

  // The uncompressed file.
  absl::StatusOr<std::string> Pack(const std::string& graph) const;
  // Null if the file is outdated or was never requested.
  File FindCurrent(const std::string& graph) const;
  void Keep(const std::string& graph, uint64_t graph_version, File file);

  const graph::GraphStore& graph_;
  const std::string version_prefix_;
  TaskRunner& tasks_;
  const std::function<void()> changed_;
  // By id of the graph.
  std::map<std::string, Entry> entries_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_GRAPH_INDEX_CACHE_H_
