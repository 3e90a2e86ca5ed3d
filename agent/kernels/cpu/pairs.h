// Passes over one or two tensors in host memory for conditions that need more
// than Statistics.
#ifndef AGENT_KERNELS_CPU_PAIRS_H_
#define AGENT_KERNELS_CPU_PAIRS_H_

#include <cstdint>
#include <optional>

#include "agent/kernels/statistics.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::cpu {

// Same semantics as the reference functions of these names. Values agree within
// a relative tolerance of 1e-12 (norms: of at least 1e-150), counts exactly.
// Thread-safe; do not allocate. Integers, and two views whose elements are in
// different memory order, are as slow as the reference.
std::optional<uint64_t> CountInRange(const TensorView& view, double start,
                                     double end);
bool ComparePair(const TensorView& now, const TensorView& previous,
                 PairStatistics* statistics);
// May stop counting once `enough` changes are found.
std::optional<uint64_t> CountChanged(const TensorView& now,
                                     const TensorView& previous,
                                     const Tolerance& tolerance,
                                     uint64_t enough = UINT64_MAX);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_PAIRS_H_
