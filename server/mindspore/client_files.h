// Where a server keeps what it has to know of MindSpore processes when it is
// started again: a directory with two files for each process.
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

// What was written survives the end of this process at any moment. Nothing
// fails but for a line in the log: jobs go on, and do not outlive the server.
//
// Threads: any; one at a time for one process.
class ClientFiles {
 public:
  using Log = std::function<void(std::string_view line)>;

  // The directory is made if it is not there. Its name may be empty: then
  // nothing is kept. `log` may be empty, too.
  ClientFiles(std::string directory, Log log);

  // The processes that were written down; what cannot be read is left out.
  std::vector<SavedClient> Load() const;
  // In the order in which they were added.
  std::vector<debugger::GraphProto> Graphs(
      const std::string& incarnation) const;

  void AddGraph(const std::string& incarnation,
                const debugger::GraphProto& graph);
  // In place of what was known before. False if it is not kept.
  bool Save(const std::string& incarnation, const std::string& saved_client);
  void Remove(const std::string& incarnation);

  // Nothing is written any more.
  void Close() { closed_ = true; }

 private:
  bool open() const { return !directory_.empty() && !closed_; }
  std::string PathOf(const std::string& incarnation,
                     const char* extension) const;
  void Complain(const std::string& path) const;

  const std::string directory_;
  const Log log_;
  std::atomic<bool> closed_{false};
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_CLIENT_FILES_H_
