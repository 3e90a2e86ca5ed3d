// Reports the resident memory of the process to the memory budget.
#ifndef SERVER_MAIN_MEMORY_WATCH_H_
#define SERVER_MAIN_MEMORY_WATCH_H_

#include "server/base/memory_budget.h"

namespace graphdbg {

// Measures the process, and returns freed memory to the system first if much
// belongs to no account. To be called periodically.
void ObserveMemory(MemoryBudget& budget);

}  // namespace graphdbg

#endif  // SERVER_MAIN_MEMORY_WATCH_H_
