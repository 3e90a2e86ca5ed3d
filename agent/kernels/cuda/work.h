// Arguments and results of kernels: plain structs with the same layout on host
// and device.
#ifndef AGENT_KERNELS_CUDA_WORK_H_
#define AGENT_KERNELS_CUDA_WORK_H_

#include <cstdint>

namespace graphdbg::cuda {

constexpr uint32_t kThreadsPerBlock = 256;
// Maximum number of tensors per launch; the arguments of a kernel are limited
// to 4 KiB.
constexpr uint32_t kMaxItems = 64;
// Maximum number of dimensions after evenly spaced neighbours are merged.
constexpr int32_t kMaxLayoutDimensions = 12;

// Sums over a part of a tensor. The fields from mean to abs_sum are over the
// finite elements. `mean` is relative to the tensor's origin, which is its
// first element (0 if that is not finite); this preserves the precision of
// large numbers that are close together. `deviations` is the sum of squared
// distances from the mean.
struct Partial {
  uint64_t finite_count;
  uint64_t nan_count;
  uint64_t pos_inf_count;
  uint64_t neg_inf_count;
  uint64_t zero_count;
  uint64_t negative_count;
  // Elements within the requested range.
  uint64_t in_range_count;
  double min;
  double max;
  double mean;
  double deviations;
  double abs_sum;
  double origin;
  // If not 0, mean, deviations and abs_sum refer to elements multiplied by
  // kScale, which keeps squares of large float64 in range.
  uint64_t scaled;
};

// Sums over a part of a tensor and its previous value. Sums are over the pairs
// whose elements are both finite.
struct PairPartial {
  uint64_t count;
  uint64_t finite_count;
  uint64_t changed_count;
  double change_abs_sum;
  double change_abs_max;
  double change_squares;
  double previous_abs_sum;
  double previous_squares;
  // If not 0, sums refer to elements multiplied by kScale.
  uint64_t scaled;
};

struct Result {
  union {
    Partial statistics;
    PairPartial pair;
  };
};

// Host memory that the device writes a result to. The result is complete when
// `sequence` has the value that the host requested.
struct alignas(64) ResultSlot : Result {
  uint64_t sequence;
};

// Memory through which the blocks that process one tensor combine their sums.
// Everything except `result` is device memory.
struct Reduction {
  // One per block; null if there is only one block.
  void* partials;
  // Number of finished blocks; 0 before and after the launch.
  uint32_t* finished_blocks;
  ResultSlot* result;
  uint64_t sequence;
};

// Contiguous elements.
struct Item {
  const void* data;
  uint64_t count;
  Reduction reduction;
  // This item's blocks among those of the launch.
  uint32_t first_block;
  uint32_t block_count;
};

struct Batch {
  uint32_t count;
  Item items[kMaxItems];
};
static_assert(sizeof(Batch) <= 4096, "fits into a kernel's arguments");

// Sizes of a strided layout, in which element i is at the sum of its indices
// times the strides. The first dimension varies fastest.
struct Grid {
  int32_t ndim;
  uint64_t sizes[kMaxLayoutDimensions];
};

struct StridedItem {
  const void* data;
  uint64_t count;
  Reduction reduction;
  // In elements.
  Grid grid;
  int64_t strides[kMaxLayoutDimensions];
  // The closed interval that in_range_count refers to.
  double range_start;
  double range_end;
};

struct PairItem {
  const void* now;
  const void* previous;
  uint64_t count;
  Reduction reduction;
  Grid grid;
  int64_t now_strides[kMaxLayoutDimensions];
  int64_t previous_strides[kMaxLayoutDimensions];
  // Elements that are close, as defined by Tolerance, are not counted in
  // changed_count.
  double rtol;
  double atol;
  uint32_t equal_nan;
};

// Copies elements [first, first + count) of a layout to contiguous memory.
struct GatherItem {
  const void* data;
  void* out;
  uint64_t first;
  uint64_t count;
  Grid grid;
  // In bytes.
  int64_t strides[kMaxLayoutDimensions];
};

}  // namespace graphdbg::cuda

#endif  // AGENT_KERNELS_CUDA_WORK_H_
