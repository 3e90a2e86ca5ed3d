// A process that runs CPython, and the addresses of what is called in it.
#ifndef AGENT_INJECT_PYTHON_PROCESS_H_
#define AGENT_INJECT_PYTHON_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/inject/image.h"
#include "agent/inject/machine.h"
#include "agent/inject/mappings.h"

namespace graphdbg::inject {

struct PythonProcess {
  pid_t pid = 0;
  std::vector<Mapping> mappings;
  // The interpreter's library or program.
  std::string file;
  // Such as "3.11"; empty if unknown.
  std::string version;
  // int Py_AddPendingCall(int (*)(void*), void*)
  uint64_t add_pending_call = 0;
  // int PyRun_SimpleString(const char*)
  uint64_t run_string = 0;
  // The functions in which the interpreter waits for a lock, and continues to
  // wait if that is interrupted.
  std::vector<AddressRange> lock_waits;
};

// Finds the interpreter of a process, which is not stopped.
//
// Errors: "no_process", "other_user", "no_python", "file_replaced".
absl::StatusOr<PythonProcess> FindPython(pid_t pid);

// Finds the code of the process that it is restored by.
absl::StatusOr<Gadgets> FindGadgets(const PythonProcess& process);

}  // namespace graphdbg::inject

#endif  // AGENT_INJECT_PYTHON_PROCESS_H_
