// Threads that wait for a lock of the interpreter, such as in Thread.join().
#ifndef AGENT_INJECT_LOCK_WAIT_H_
#define AGENT_INJECT_LOCK_WAIT_H_

#include "agent/inject/machine.h"
#include "agent/inject/python_process.h"

namespace graphdbg::inject {

// Whether a stopped thread waits for a lock in a way that may return EINTR: it
// is in the kernel's futex, and between it and the interpreter's wait for
// locks, which runs pending calls and waits on, is only the C library. Other
// code may not know EINTR and must not get it.
bool WaitsForLock(const PythonProcess& process, const Registers& registers);

}  // namespace graphdbg::inject

#endif  // AGENT_INJECT_LOCK_WAIT_H_
