// `graphdbg_server relay`: the relay of a host.
#ifndef SERVER_MAIN_RELAY_COMMAND_H_
#define SERVER_MAIN_RELAY_COMMAND_H_

#include <functional>
#include <string_view>

#include "absl/status/status.h"

namespace graphdbg {

// Runs until SIGINT or SIGTERM. `argv` starts with the subcommand.
// INVALID_ARGUMENT, with a line for the user, if the command line is invalid;
// UNAVAILABLE if the relay cannot listen.
absl::Status RunRelay(int argc, const char* const* argv,
                      std::function<void(std::string_view line)> log);

}  // namespace graphdbg

#endif  // SERVER_MAIN_RELAY_COMMAND_H_
