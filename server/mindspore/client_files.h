// Stores the state of MindSpore clients that outlives the server: two files per
// process in one directory.
#ifndef SERVER_MINDSPORE_CLIENT_FILES_H_
#define SERVER_MINDSPORE_CLIENT_FILES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "proto/mindspore/graph.pb.h"
#include "server/mindspore/client_file_limits.h"
#include "server/mindspore/saved_client.pb.h"

namespace graphdbg::mindspore {

// Stored state survives a crash of the server at any moment. Failures are only
// logged: the affected jobs continue, but do not outlive the server.
//
// The clients show no credentials, so what they can store is limited.
//
// Thread-safe, except that calls for the same client must not overlap.
class ClientFiles {
 public:
  using Log = std::function<void(std::string_view line)>;

  using Limits = ClientFileLimits;

  // Creates the directory if necessary. If its name is empty, nothing is
  // stored. `log` may be null.
  ClientFiles(std::string directory, Log log)
      : ClientFiles(std::move(directory), std::move(log), Limits()) {}
  ClientFiles(std::string directory, Log log, Limits limits);

  // Returns the stored clients. Skips those that cannot be read.
  std::vector<SavedClient> Load() const;
  // Returns the client's graphs in the order in which they were added.
  std::vector<debugger::GraphProto> Graphs(
      const std::string& incarnation) const;

  void AddGraph(const std::string& incarnation,
                const debugger::GraphProto& graph) ABSL_LOCKS_EXCLUDED(mu_);
  // Replaces the client's state. Returns whether it was stored.
  bool Save(const std::string& incarnation, const std::string& saved_client)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Remove(const std::string& incarnation) ABSL_LOCKS_EXCLUDED(mu_);

  // Size of all files.
  uint64_t bytes() const ABSL_LOCKS_EXCLUDED(mu_);

  // Stops storing state.
  void Close() { closed_ = true; }

 private:
  // Sizes of one client's files.
  struct Sizes {
    uint64_t state = 0;
    uint64_t graphs = 0;
    uint64_t total() const { return state + graphs; }
  };

  bool open() const { return !directory_.empty() && !closed_; }
  std::string PathOf(const std::string& incarnation,
                     const char* extension) const;
  void MeasureFiles() ABSL_LOCKS_EXCLUDED(mu_);
  // Records the sizes that the client's files are going to have.
  // RESOURCE_EXHAUSTED if they exceed a limit.
  absl::Status SetSizes(const std::string& incarnation, const Sizes& sizes)
      ABSL_LOCKS_EXCLUDED(mu_);
  Sizes SizesOf(const std::string& incarnation) const ABSL_LOCKS_EXCLUDED(mu_);
  // Logs the first error for each file.
  void LogError(const std::string& path, const absl::Status& error)
      ABSL_LOCKS_EXCLUDED(mu_);

  const std::string directory_;
  const Log log_;
  const Limits limits_;
  std::atomic<bool> closed_{false};

  mutable absl::Mutex mu_;
  std::map<std::string, Sizes> sizes_ ABSL_GUARDED_BY(mu_);
  uint64_t total_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::set<std::string> logged_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_CLIENT_FILES_H_
