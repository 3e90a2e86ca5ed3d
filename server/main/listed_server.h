// The list of servers that a user's commands search, whatever their data
// directories.
#ifndef SERVER_MAIN_LISTED_SERVER_H_
#define SERVER_MAIN_LISTED_SERVER_H_

#include <string>

#include "absl/status/status.h"

namespace graphdbg {

// A file of the user's runtime directory, <pid>.json in
// $XDG_RUNTIME_DIR/graphdbg or else in .graphdbg-<uid> of the directory for
// temporary files, which exists while the server runs: {"pid", "http_address",
// "debugger_address", "data_dir"}. A server that is killed leaves it to the
// next one.
class ListedServer {
 public:
  // FAILED_PRECONDITION if others could write to the runtime directory;
  // PERMISSION_DENIED or UNAVAILABLE if this server cannot.
  absl::Status Write(const std::string& data_dir,
                     const std::string& http_address,
                     const std::string& debugger_address);
  void Remove();

 private:
  // Empty if there is no file.
  std::string name_;
};

}  // namespace graphdbg

#endif  // SERVER_MAIN_LISTED_SERVER_H_
