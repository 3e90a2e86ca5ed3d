// Host side of a launch: fills kernel arguments from views and converts sums to
// statistics.
#ifndef AGENT_KERNELS_CUDA_LAUNCH_H_
#define AGENT_KERNELS_CUDA_LAUNCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/kernels/cuda/work.h"
#include "agent/kernels/statistics.h"
#include "agent/tensor/dtype.h"
#include "agent/tensor/layout.h"
#include "agent/tensor/slice.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::cuda {

// Size of a block's partial result.
constexpr size_t kMaxPartialBytes =
    std::max(sizeof(Partial), sizeof(PairPartial));

// For example "StatisticsFloat32" for the family "Statistics". The dtype must
// have statistics.
std::string KernelName(const char* family, DType dtype);
// The dtype must have an item size.
std::string GatherName(DType dtype);
// Names of all kernels.
std::vector<std::string> KernelNames();

// Fill the fields that depend on the tensor alone. Return false if it has more
// dimensions than a kernel supports. The element count must not be 0.
bool FillStrided(const Layout& layout, StridedItem* item);
// Both views must have the same shape.
bool FillPair(const TensorView& now, const TensorView& previous,
              PairItem* item);
void SetTolerance(const Tolerance& tolerance, PairItem* item);
// The slice must be within the view's shape.
bool FillGather(const TensorView& view, const Slice& slice, GatherItem* item);

// Counts every element `multiplicity` times.
Statistics ToStatistics(const Partial& sums, uint64_t multiplicity);
PairStatistics ToPairStatistics(const PairPartial& sums);

}  // namespace graphdbg::cuda

#endif  // AGENT_KERNELS_CUDA_LAUNCH_H_
