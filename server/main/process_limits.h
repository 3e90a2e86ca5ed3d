// The process's limits on open files and core dumps.
#ifndef SERVER_MAIN_PROCESS_LIMITS_H_
#define SERVER_MAIN_PROCESS_LIMITS_H_

#include <cstdint>

namespace graphdbg {

// Raises the soft limit on open files and connections, which is low for the
// sake of programs that use select(), to the hard limit. Returns the limit.
uint64_t RaiseDescriptorLimit();

// Sets the soft limit on the size of core dumps to 0, because they would
// contain tokens and the values of tensors. `prlimit --core=unlimited --pid`
// allows them again.
void AvoidCoreDumps();

}  // namespace graphdbg

#endif  // SERVER_MAIN_PROCESS_LIMITS_H_
