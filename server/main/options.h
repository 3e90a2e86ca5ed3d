// The command line of graphdbg_server.
#ifndef SERVER_MAIN_OPTIONS_H_
#define SERVER_MAIN_OPTIONS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/mindspore/allow_list.h"

namespace graphdbg {

struct Options {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;
  uint16_t debugger_port = 50051;
  std::string data_dir;
  // Of what outlives the server, and of jobs in memory. Above them ended jobs
  // are forgotten, the oldest first.
  uint64_t max_disk_bytes = uint64_t{10} << 30;
  uint64_t max_memory_bytes = uint64_t{4} << 30;
  uint32_t max_jobs = 1'000;
  // Machines that may send MindSpore's jobs, beside this one. With them there
  // is a port of its own for these jobs, on all addresses.
  std::optional<mindspore::AllowList> mindspore_allow;
  uint16_t mindspore_port = 50052;
  // PEM files; empty: no TLS, and none but this machine can come.
  std::string tls_certificate;
  std::string tls_key;
  // Empty: clients need no certificate of their own.
  std::string tls_client_authority;
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
