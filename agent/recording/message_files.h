// Files of messages beside the records of a rank: the graph, hits, the nodes
// that the collections selected, times of ops, and what users have changed.
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
#include "proto/graphdbg/v1/overview.pb.h"
#include "proto/graphdbg/v1/tensor.pb.h"
#include "proto/graphdbg/v1/watch.pb.h"

namespace graphdbg::recording {

// Any thread.
class MessageFiles {
 public:
  using TakeGraphUpdate = std::function<bool(v1::GraphUpdate*)>;

  MessageFiles(const std::string& directory, TakeGraphUpdate take_graph_update);

  // Returns the hit's place in its file, from 1; 0 if it finds no room, because
  // too many have not been written yet.
  uint64_t AddHit(const v1::Hit& hit) GRAPHDBG_EXCLUDES(mu_);
  // False if too many have not been written yet.
  bool AddOpTimes(const v1::OverviewStep& times) GRAPHDBG_EXCLUDES(mu_);
  bool AddUserChange(const v1::UserChange& change) GRAPHDBG_EXCLUDES(mu_);
  void AddCollectionLine(absl::string_view line) GRAPHDBG_EXCLUDES(mu_);

  // Messages that could not be written are kept for the next call.
  absl::Status Write() GRAPHDBG_EXCLUDES(files_mu_, mu_);
  // Waits until what was written is on the disk, while others may write on.
  absl::Status Sync() GRAPHDBG_EXCLUDES(files_mu_);

 private:
  absl::Status WriteGraph() GRAPHDBG_REQUIRES(files_mu_);
  // Adds a message to those of a file that are to be written.
  bool Add(const std::string& message, std::string* waiting)
      GRAPHDBG_REQUIRES(mu_);

  const TakeGraphUpdate take_graph_update_;

  // Held for writing, but not while the disk is waited for.
  Mutex files_mu_ GRAPHDBG_ACQUIRED_BEFORE(mu_);
  AppendFile graph_ GRAPHDBG_GUARDED_BY(files_mu_);
  AppendFile hits_ GRAPHDBG_GUARDED_BY(files_mu_);
  AppendFile collections_ GRAPHDBG_GUARDED_BY(files_mu_);
  AppendFile op_times_ GRAPHDBG_GUARDED_BY(files_mu_);
  AppendFile user_changes_ GRAPHDBG_GUARDED_BY(files_mu_);

  Mutex mu_;
  // Framed already.
  std::string new_hits_ GRAPHDBG_GUARDED_BY(mu_);
  std::string new_op_times_ GRAPHDBG_GUARDED_BY(mu_);
  std::string new_user_changes_ GRAPHDBG_GUARDED_BY(mu_);
  std::string new_lines_ GRAPHDBG_GUARDED_BY(mu_);
  uint64_t hit_count_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_MESSAGE_FILES_H_
