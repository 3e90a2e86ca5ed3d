// What the host does about a launch: arguments from views, numbers from sums.
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

// What a block leaves for the last one.
constexpr size_t kMaxPartialBytes =
    std::max(sizeof(Partial), sizeof(PairPartial));

// "StatisticsFloat32" of "Statistics"; the dtype has statistics.
std::string KernelName(const char* family, DType dtype);
// Elements have bytes that can be read.
std::string GatherName(DType dtype);
// Of all that can be launched.
std::vector<std::string> KernelNames();

// These fill what depends on the tensor alone; false if it has more dimensions
// than a kernel takes. The element count must not be 0.
bool FillStrided(const Layout& layout, StridedItem* item);
// Both of one shape.
bool FillPair(const TensorView& now, const TensorView& previous,
              PairItem* item);
void SetTolerance(const Tolerance& tolerance, PairItem* item);
// The slice lies within the view's shape.
bool FillGather(const TensorView& view, const Slice& slice, GatherItem* item);

// Every element counts `multiplicity` times.
Statistics ToStatistics(const Partial& sums, uint64_t multiplicity);
PairStatistics ToPairStatistics(const PairPartial& sums);

}  // namespace graphdbg::cuda

#endif  // AGENT_KERNELS_CUDA_LAUNCH_H_
