#include "agent/kernels/cpu/cpu_pair.h"

#include "agent/kernels/reference/reference.h"

namespace graphdbg::cpu {

std::optional<uint64_t> CountInRange(const TensorView& view, double start,
                                     double end) {
  return reference::CountInRange(view, start, end);
}

bool ComparePair(const TensorView& now, const TensorView& previous,
                 PairStatistics* statistics) {
  return reference::ComparePair(now, previous, statistics);
}

std::optional<uint64_t> CountChanged(const TensorView& now,
                                     const TensorView& previous,
                                     const Tolerance& tolerance) {
  return reference::CountChanged(now, previous, tolerance);
}

}  // namespace graphdbg::cpu
