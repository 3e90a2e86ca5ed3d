// Runs a helper program, such as one that reads untrusted input: what crashes
// or exploits it does not harm the server.
#ifndef SERVER_IMPORTS_CHILD_PROCESS_H_
#define SERVER_IMPORTS_CHILD_PROCESS_H_

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/http/message.h"

namespace graphdbg::imports {

struct ChildLimits {
  // The program is killed after this time, which includes waiting for input.
  std::chrono::milliseconds deadline{600'000};
  // The program is killed if its standard output exceeds this size.
  uint64_t max_output_bytes = uint64_t{256} << 20;
};

struct ChildEnd {
  // Negative: the signal that ended the process.
  int exit_code = 0;
  std::string output;
  // The first few KiB of its standard error.
  std::string errors;
};

// `command` is the path of the program and its arguments. The program has no
// variables but those of `environment`, each "NAME=VALUE", and no open files
// except the standard three. `input` is read while the program reads.
// UNAVAILABLE "cannot_start" if the program cannot be started,
// DEADLINE_EXCEEDED or RESOURCE_EXHAUSTED at a limit, or the error of `input`.
boost::asio::awaitable<absl::StatusOr<ChildEnd>> RunChild(
    std::vector<std::string> command, http::NextPiece input, ChildLimits limits,
    std::vector<std::string> environment = {});

}  // namespace graphdbg::imports

#endif  // SERVER_IMPORTS_CHILD_PROCESS_H_
