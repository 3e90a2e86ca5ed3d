// Commands of the program `graphdbg`, which the server runs for its users.
#ifndef SERVER_MAIN_COMMAND_LINE_H_
#define SERVER_MAIN_COMMAND_LINE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "server/api/services.h"
#include "server/imports/child_process.h"
#include "server/jobs/interfaces.h"

namespace graphdbg {

// Thread-safe.
class CommandLine {
 public:
  // `program` is the path of `graphdbg`.
  explicit CommandLine(
      std::string program,
      std::chrono::milliseconds deadline = std::chrono::milliseconds(60'000));

  // Runs the command with the server's environment. RESOURCE_EXHAUSTED
  // "too_many_commands" if several run already, or an error of RunChild.
  jobs::Task<api::CommandEnd> Run(std::vector<std::string> arguments);

 private:
  const std::string program_;
  imports::ChildLimits limits_;
  std::atomic<uint32_t> running_{0};
};

}  // namespace graphdbg

#endif  // SERVER_MAIN_COMMAND_LINE_H_
