// More passes over tensors in host memory, for conditions that plain statistics
// do not answer.
#ifndef AGENT_KERNELS_CPU_CPU_PAIR_H_
#define AGENT_KERNELS_CPU_CPU_PAIR_H_

#include <cstdint>
#include <optional>

#include "agent/kernels/statistics.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::cpu {

// As the functions of the same names in the reference; values agree to 1e-12 of
// their own size (norms: of 1e-150 at least), counts exactly. Allocate nothing;
// any thread. Integers, and two views whose elements do not lie in the same
// order in memory, take the reference's time.
std::optional<uint64_t> CountInRange(const TensorView& view, double start,
                                     double end);
bool ComparePair(const TensorView& now, const TensorView& previous,
                 PairStatistics* statistics);
// May stop counting at `enough`.
std::optional<uint64_t> CountChanged(const TensorView& now,
                                     const TensorView& previous,
                                     const Tolerance& tolerance,
                                     uint64_t enough = UINT64_MAX);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_CPU_PAIR_H_
