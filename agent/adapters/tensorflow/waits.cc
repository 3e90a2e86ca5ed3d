#include "agent/adapters/tensorflow/waits.h"

#include "agent/base/chained_signals.h"

namespace graphdbg::tensorflow {

void* BeginWait() {
  int* const seen_before = new int(ChainedSignals::Get().seen());
  ChainedSignals::Get().BeginWait();
  return seen_before;
}

void EndWait(void* token) {
  delete static_cast<int*>(token);
  ChainedSignals::Get().EndWait();
}

int Interrupted(void* token) {
  return *static_cast<int*>(token) != ChainedSignals::Get().seen() ? 1 : 0;
}

}  // namespace graphdbg::tensorflow
