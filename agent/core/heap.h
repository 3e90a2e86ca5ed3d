#ifndef AGENT_CORE_HEAP_H_
#define AGENT_CORE_HEAP_H_

#include <cstdint>

namespace graphdbg::agent {

// Lets the C library keep up to this much memory that the program freed instead
// of returning it to the system.
//
// Outputs that are kept until the end of a step are released all at once. If
// their pages went back to the system, it would clear each of them again in the
// next step, which made a training step of a residual network 20 % slower. A
// recorded program has up to twice as many such page faults as without, though
// nothing is kept.
//
// Has no effect with C libraries other than glibc, if the program uses another
// allocator, or if the user tuned it (GLIBC_TUNABLES, MALLOC_*). Any thread;
// only the first call counts.
void KeepFreedMemory(int64_t bytes);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_HEAP_H_
