#include "server/main/memory_watch.h"

#include <malloc.h>

namespace graphdbg {

void ObserveMemory(MemoryBudget& budget) {
  budget.ObserveProcess(ResidentBytes());
  // Blocks that were freed may still belong to the process.
  if (budget.used(MemoryAccount::kProcess) < budget.limit() / 8) return;
  malloc_trim(0);
  budget.ObserveProcess(ResidentBytes());
}

}  // namespace graphdbg
