// What /proc says about a process, and its memory.
#ifndef AGENT_INJECT_PROCESS_H_
#define AGENT_INJECT_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/inject/mappings.h"

namespace graphdbg::inject {

struct ProcessStatus {
  // A letter as in ps: R, S, D, T, t, Z, X.
  char state = '?';
  // The process that traces it; 0 if none does.
  pid_t tracer = 0;
  // The real user.
  uid_t user = 0;
  // The process that a thread belongs to.
  pid_t process = 0;
  // It runs with a shadow stack, which holds return addresses.
  bool has_shadow_stack = false;
};

// Parses the text of /proc/PID/status.
absl::StatusOr<ProcessStatus> ParseStatus(absl::string_view text);

// Reads /proc/PID/status. The error's code is "no_process".
absl::StatusOr<ProcessStatus> ReadStatus(pid_t pid);

// Reads a file of /proc/PID, such as "comm". Empty if it cannot be read.
std::string ReadProcFile(pid_t pid, absl::string_view name);

// Reads /proc/PID/maps. The error's code is "not_dumpable" if the process
// denies that to its own user.
absl::StatusOr<std::vector<Mapping>> ReadMappings(pid_t pid);

// Copies memory of a process. False if any byte is not mapped, or access is
// denied.
bool ReadMemory(pid_t pid, uint64_t address, size_t size, void* out);
bool WriteMemory(pid_t pid, uint64_t address, absl::string_view bytes);

}  // namespace graphdbg::inject

#endif  // AGENT_INJECT_PROCESS_H_
