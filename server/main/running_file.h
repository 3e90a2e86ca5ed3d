// The file from which other programs learn where the server of a data
// directory listens.
#ifndef SERVER_MAIN_RUNNING_FILE_H_
#define SERVER_MAIN_RUNNING_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace graphdbg {

// <data_dir>/server.json, which exists while the server runs: {"pid",
// "http_address", "debugger_address"}. A server that is killed leaves it.
class RunningFile {
 public:
  absl::Status Write(const std::string& data_dir,
                     const std::string& http_address,
                     const std::string& debugger_address);
  void Remove();

 private:
  // Empty if there is no file.
  std::string name_;
};

}  // namespace graphdbg

#endif  // SERVER_MAIN_RUNNING_FILE_H_
