// Stores the state of MindSpore clients that outlives the server: two files per
// process in one directory.
#ifndef SERVER_MINDSPORE_CLIENT_FILES_H_
#define SERVER_MINDSPORE_CLIENT_FILES_H_

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/mindspore/graph.pb.h"
#include "server/mindspore/saved_client.pb.h"

namespace graphdbg::mindspore {

// Stored state survives a crash of the server at any moment. Failures are only
// logged: the affected jobs continue, but do not outlive the server.
//
// Thread-safe, except that calls for the same client must not overlap.
class ClientFiles {
 public:
  using Log = std::function<void(std::string_view line)>;

  // Creates the directory if necessary. If its name is empty, nothing is
  // stored. `log` may be null.
  ClientFiles(std::string directory, Log log);

  // Returns the stored clients. Skips those that cannot be read.
  std::vector<SavedClient> Load() const;
  // Returns the client's graphs in the order in which they were added.
  std::vector<debugger::GraphProto> Graphs(
      const std::string& incarnation) const;

  void AddGraph(const std::string& incarnation,
                const debugger::GraphProto& graph);
  // Replaces the client's state. Returns whether it was stored.
  bool Save(const std::string& incarnation, const std::string& saved_client);
  void Remove(const std::string& incarnation);

  // Stops storing state.
  void Close() { closed_ = true; }

 private:
  bool open() const { return !directory_.empty() && !closed_; }
  std::string PathOf(const std::string& incarnation,
                     const char* extension) const;
  void LogWriteError(const std::string& path) const;

  const std::string directory_;
  const Log log_;
  std::atomic<bool> closed_{false};
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_CLIENT_FILES_H_
