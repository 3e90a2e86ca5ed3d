// What the environment says about this process: all variables of the job.
#ifndef AGENT_CORE_CONFIG_H_
#define AGENT_CORE_CONFIG_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace graphdbg::agent {

enum class OnDisconnect { kResume, kHold, kStop };

struct Config {
  bool enabled = false;
  std::string host = "127.0.0.1";
  uint16_t port = 50051;
  // Empty: none.
  std::string token;
  // Contents of PEM files; empty: none.
  struct Tls {
    // Whose certificate the server has to show: else nothing is said to it.
    // Empty: plain text.
    std::string authority;
    // What the agent shows itself, and its key.
    std::string certificate;
    std::string key;
  };
  Tls tls;

  std::string job;
  // The script's name.
  std::string program;
  uint32_t rank = 0;
  uint32_t world_size = 1;

  bool partial_memory = false;
  int64_t tensor_budget_bytes = int64_t{2} << 30;
  // Wait for the user before the first step.
  bool wait = true;
  std::chrono::milliseconds connect_timeout{10'000};
  OnDisconnect on_disconnect = OnDisconnect::kResume;
  std::chrono::milliseconds grace{60'000};

  // One line for each value that could not be used; its default counts.
  std::vector<std::string> problems;
};

// The value of a variable, or null.
using Environment = std::function<const char*(const char* name)>;

// Never fails. `command_line` is the process's own, for the program's name.
Config ReadConfig(const Environment& environment,
                  const std::vector<std::string>& command_line);

// "train.py" of {"python3", "-u", "train.py"}, "module" of {"python", "-m",
// "module"}, else the program's file name.
std::string ProgramName(const std::vector<std::string>& command_line);

// Of this process; empty if the system does not tell.
std::vector<std::string> OwnCommandLine();

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_CONFIG_H_
