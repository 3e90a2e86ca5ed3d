// What the records of a rank refer to: the graph, hits, and what the
// collections selected.
#ifndef AGENT_RECORDING_MESSAGE_FILES_H_
#define AGENT_RECORDING_MESSAGE_FILES_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/base/mutex.h"
#include "agent/recording/append_file.h"
#include "proto/graphdbg/v1/graph.pb.h"
#include "proto/graphdbg/v1/watch.pb.h"

namespace graphdbg::recording {

// Any thread adds; the writer's thread writes.
class MessageFiles {
 public:
  using TakeGraphUpdate = std::function<bool(v1::GraphUpdate*)>;

  MessageFiles(const std::string& directory, TakeGraphUpdate take_graph_update);

  // Returns the hit's place in its file, from 1; 0 if it finds no room, because
  // too many have not been written yet.
  uint64_t AddHit(const v1::Hit& hit) GRAPHDBG_EXCLUDES(mu_);
  void AddCollectionLine(absl::string_view line) GRAPHDBG_EXCLUDES(mu_);

  absl::Status Write(bool sync) GRAPHDBG_EXCLUDES(mu_);

 private:
  absl::Status WriteGraph();

  const TakeGraphUpdate take_graph_update_;

  // The writer's thread only.
  AppendFile graph_;
  AppendFile hits_;
  AppendFile collections_;

  Mutex mu_;
  // Framed already.
  std::string new_hits_ GRAPHDBG_GUARDED_BY(mu_);
  std::string new_lines_ GRAPHDBG_GUARDED_BY(mu_);
  uint64_t hit_count_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_MESSAGE_FILES_H_
