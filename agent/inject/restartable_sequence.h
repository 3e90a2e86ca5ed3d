// Restartable sequences (rseq), in which a thread must not be made to call.
#ifndef AGENT_INJECT_RESTARTABLE_SEQUENCE_H_
#define AGENT_INJECT_RESTARTABLE_SEQUENCE_H_

#include <sys/types.h>

#include <cstdint>

namespace graphdbg::inject {

// Whether a stopped thread is inside of a restartable sequence, as some
// allocators have. The kernel would not restart it after a call, since it sees
// the thread leave the sequence.
bool IsInRestartableSequence(pid_t thread, uint64_t instruction_pointer);

}  // namespace graphdbg::inject

#endif  // AGENT_INJECT_RESTARTABLE_SEQUENCE_H_
