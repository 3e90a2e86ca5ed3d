#include "server/main/command_line.h"

#include <unistd.h>

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"

namespace graphdbg {
namespace {

// Each is a Python process.
constexpr uint32_t kMostAtOnce = 4;
constexpr uint64_t kMaxOutputBytes = uint64_t{4} << 20;

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.push_back(*variable);
  }
  return variables;
}

http::NextPiece NoInput() {
  return []() -> boost::asio::awaitable<absl::StatusOr<std::string>> {
    co_return std::string();
  };
}

}  // namespace

CommandLine::CommandLine(std::string program,
                         std::chrono::milliseconds deadline)
    : program_(std::move(program)) {
  limits_.deadline = deadline;
  limits_.max_output_bytes = kMaxOutputBytes;
}

jobs::Task<api::CommandEnd> CommandLine::Run(
    std::vector<std::string> arguments) {
  const absl::Cleanup leave = [this] { --running_; };
  if (++running_ > kMostAtOnce) {
    co_return Error(absl::StatusCode::kResourceExhausted, "too_many_commands",
                    "several commands run already; try again");
  }
  arguments.insert(arguments.begin(), program_);
  CO_ASSIGN_OR_RETURN(
      imports::ChildEnd end,
      co_await imports::RunChild(std::move(arguments), NoInput(), limits_,
                                 OwnEnvironment()));
  co_return api::CommandEnd{end.exit_code, std::move(end.output),
                            std::move(end.errors)};
}

}  // namespace graphdbg
