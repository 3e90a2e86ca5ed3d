#ifndef AGENT_CORE_HEAP_H_
#define AGENT_CORE_HEAP_H_

#include <cstdint>

namespace graphdbg::agent {

// Has the C library keep up to so much memory that the program freed, instead
// of giving it back to the system.
//
// A step's outputs that are kept until it ends are let go all at once. Given
// back then, and taken anew in the next step, each page is cleared again by the
// system: that made a training step with a residual network a fifth slower.
//
// Without effect with other C libraries than GNU's, where the program uses
// another allocator, and where the user tuned it (GLIBC_TUNABLES, MALLOC_*).
// Any thread; only the first call counts.
void KeepFreedMemory(int64_t bytes);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_HEAP_H_
