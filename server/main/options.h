// The command line of graphdbg_server.
#ifndef SERVER_MAIN_OPTIONS_H_
#define SERVER_MAIN_OPTIONS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/mindspore/allow_list.h"

namespace graphdbg {

struct Options {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;
  uint16_t debugger_port = 50051;
  // Path of a Unix socket for agents of the same user, beside the port. Empty:
  // none.
  std::string debugger_socket;
  std::string data_dir;
  // Recorded runs, and directories of them.
  std::vector<std::string> runs;
  // The program `graphdbg`, with which pages attach to trainings of this
  // machine. Empty: they cannot.
  std::string attach_program;
  // Limits for jobs on disk and in memory. When one is exceeded, the server
  // deletes ended jobs, oldest first.
  uint64_t max_disk_bytes = uint64_t{10} << 30;
  uint64_t max_memory_bytes = uint64_t{4} << 30;
  uint32_t max_jobs = 1'000;
  // The server also deletes jobs that ended longer ago than this. 0: never.
  uint32_t max_age_days = 0;
  // Other machines whose MindSpore jobs may connect. If set, the server accepts
  // such jobs on a port of its own, on all addresses.
  std::optional<mindspore::AllowList> mindspore_allow;
  uint16_t mindspore_port = 50052;
  // PEM files. Without them the server does not use TLS and accepts connections
  // from this machine only.
  std::string tls_certificate;
  std::string tls_key;
  // If set, clients must present a certificate from this authority.
  std::string tls_client_authority;
  // Ports of tunnels to this server, which Host headers then name.
  std::vector<uint16_t> forwarded_ports;
  // Origins of pages that may show the page in a frame.
  std::vector<std::string> frame_ancestors;
  // How many files and connections the process may have open.
  uint64_t max_descriptors = 1'024;
  bool auth = true;
  bool json = false;
  // The server stops when this process ends.
  std::optional<pid_t> parent;
  // The server removes its data directory if it outlives that process, which
  // otherwise does so itself.
  bool temporary_data_dir = false;
};

// Absent after --help and --version, whose output has been printed.
// INVALID_ARGUMENT, with a line for the user, if the command line is invalid.
absl::StatusOr<std::optional<Options>> ParseOptions(int argc,
                                                    const char* const* argv);

// $XDG_DATA_HOME/graphdbg or ~/.local/share/graphdbg; empty if neither
// XDG_DATA_HOME nor HOME is set.
std::string DefaultDataDir();

}  // namespace graphdbg

#endif  // SERVER_MAIN_OPTIONS_H_
