// The agent's configuration, read from environment variables.
#ifndef AGENT_CORE_CONFIG_H_
#define AGENT_CORE_CONFIG_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/core/allowed.h"
#include "agent/core/bundle_settings.h"
#include "agent/core/intentional_nodes.h"
#include "agent/core/record_settings.h"

namespace graphdbg::agent {

// kDetach: resumes, and is not debugged any more.
enum class OnDisconnect { kResume, kHold, kStop, kDetach };
// The reaction to an uncaught exception that is about to end the program.
enum class OnError { kPause, kContinue, kPauseIfAttended };

struct Config {
  bool enabled = false;
  std::string host = "127.0.0.1";
  uint16_t port = 50051;
  // Path of the server's Unix socket, which is used instead of host and port
  // unless it is empty.
  std::string socket;
  // Empty if there is none.
  std::string token;
  // Contents of PEM files; empty if there are none.
  struct Tls {
    // The authority that must have signed the server's certificate. Without
    // one, the connection is not encrypted, and must not leave this machine.
    std::string authority;
    // The certificate that the agent presents, and its key.
    std::string certificate;
    std::string key;
  };
  Tls tls;

  std::string job;
  // The name of the script.
  std::string program;
  uint32_t rank = 0;
  uint32_t world_size = 1;

  Allowed allowed;

  RecordSettings record;
  // The server gets the overview of the job.
  bool overview = true;
  // The share of the program's time that measurements may take which nobody has
  // asked the program to stop at; absent: each has a limit of its own.
  std::optional<double> overhead;
  // Source files are sent and recorded whole, otherwise only the lines of
  // stacks.
  bool source_files = true;
  BundleSettings bundles;
  // There is no server: the job is only recorded.
  bool serverless = false;

  // Besides the infinities that are recognized as such.
  IntentionalNodes intentional;

  bool partial_memory = false;
  int64_t tensor_budget_bytes = int64_t{2} << 30;
  // Wait for the user before the first step.
  bool wait = true;
  // Pause at the end of this step, whatever commands came before; 0 if not.
  uint64_t step_limit = 0;
  OnError on_error = OnError::kPauseIfAttended;
  std::chrono::milliseconds connect_timeout{10'000};
  OnDisconnect on_disconnect = OnDisconnect::kResume;
  std::chrono::milliseconds grace{60'000};

  // A line for each value that was ignored in favor of its default.
  std::vector<std::string> problems;
  // The same for the rank, which is read again when it is needed.
  std::vector<std::string> place_problems;
};

// Returns the value of a variable, or null.
using Environment = std::function<const char*(const char* name)>;

// The rank of a process, and the number of ranks in its job.
struct Place {
  uint32_t rank = 0;
  uint32_t world_size = 1;
};

// Reads the rank and the job again, which a program may have set since its
// start. `known` is the place that the program's framework knows; only
// GRAPHDBG_RANK takes precedence over it.
void ReadPlace(const Environment& environment,
               const std::optional<Place>& known, Config* config);

// Never fails. `command_line` is that of the process, for the program's name.
Config ReadConfig(const Environment& environment,
                  const std::vector<std::string>& command_line);

// Returns "train.py" for {"python3", "-u", "train.py"}, "module" for {"python",
// "-m", "module"}, and otherwise the program's file name.
std::string ProgramName(const std::vector<std::string>& command_line);

// Whether ProgramName found only the interpreter's own name, as for code that
// is passed with -c.
bool IsPython(absl::string_view program);

// The command line of this process; empty if it cannot be read.
std::vector<std::string> OwnCommandLine();

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_CONFIG_H_
