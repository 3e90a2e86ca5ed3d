// The command line of graphdbg_server.
#ifndef SERVER_MAIN_OPTIONS_H_
#define SERVER_MAIN_OPTIONS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace graphdbg {

struct Options {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;
  uint16_t debugger_port = 50051;
  std::string data_dir;
  bool auth = true;
  bool json = false;
  // The server ends when this process is gone.
  std::optional<pid_t> parent;
};

// Absent if there is nothing more to do (--help, --version), which has been
// printed. INVALID_ARGUMENT with a line for the user for a wrong command line.
absl::StatusOr<std::optional<Options>> ParseOptions(int argc,
                                                    const char* const* argv);

// $XDG_DATA_HOME/graphdbg or ~/.local/share/graphdbg; empty if the environment
// names neither.
std::string DefaultDataDir();

}  // namespace graphdbg

#endif  // SERVER_MAIN_OPTIONS_H_
