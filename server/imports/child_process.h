// Runs a program of ours over somebody else's bytes, so that whatever they do
// to it happens to no server.
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
  // From its start to its end, with the time that its input takes to come; it
  // is killed then.
  std::chrono::milliseconds deadline{600'000};
  // Of its standard output; it is killed above it.
  uint64_t max_output_bytes = uint64_t{256} << 20;
};

struct ChildEnd {
  // Of its process; negative: the signal that ended it.
  int exit_code = 0;
  std::string output;
  // What it wrote to its standard error, the first few KiB.
  std::string errors;
};

// `command` is the program's path and its arguments; it has no environment and
// no files but the three. `input` is read as long as the program reads.
// UNAVAILABLE "cannot_start" if there is no such program,
// DEADLINE_EXCEEDED and RESOURCE_EXHAUSTED at a limit, and errors of `input`.
boost::asio::awaitable<absl::StatusOr<ChildEnd>> RunChild(
    std::vector<std::string> command, http::NextPiece input,
    ChildLimits limits);

}  // namespace graphdbg::imports

#endif  // SERVER_IMPORTS_CHILD_PROCESS_H_
