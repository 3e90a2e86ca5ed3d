// The process's limit on open files and connections.
#ifndef SERVER_MAIN_DESCRIPTOR_LIMIT_H_
#define SERVER_MAIN_DESCRIPTOR_LIMIT_H_

#include <cstdint>

namespace graphdbg {

// Raises the soft limit, which is low for the sake of programs that use
// select(), to the hard limit. Returns the limit.
uint64_t RaiseDescriptorLimit();

}  // namespace graphdbg

#endif  // SERVER_MAIN_DESCRIPTOR_LIMIT_H_
