// What the host hands a kernel and gets back: plain structs of one layout on
// both sides.
#ifndef AGENT_KERNELS_CUDA_WORK_H_
#define AGENT_KERNELS_CUDA_WORK_H_

#include <cstdint>

namespace graphdbg::cuda {

constexpr uint32_t kThreadsPerBlock = 256;
// So many tensors go into one launch: the arguments of a kernel are at most
// 4 KiB.
constexpr uint32_t kMaxItems = 64;
// Dimensions that are left when neighbours are merged.
constexpr int32_t kMaxLayoutDimensions = 12;

// Sums over a part of a tensor. From mean to abs_sum they are over the finite
// elements; `mean` is relative to the tensor's origin, its first element (0 if
// that is not finite), so that numbers that are large and close together lose
// nothing. `deviations` is the sum of the squared distances to the mean.
struct Partial {
  uint64_t finite_count;
  uint64_t nan_count;
  uint64_t pos_inf_count;
  uint64_t neg_inf_count;
  uint64_t zero_count;
  uint64_t negative_count;
  // Elements within the range that was asked for.
  uint64_t in_range_count;
  double min;
  double max;
  double mean;
  double deviations;
  double abs_sum;
  double origin;
  // Not 0: mean, deviations and abs_sum are of elements times kScale, which
  // keeps squares of large float64 in range.
  uint64_t scaled;
};

// Of a tensor and its previous value; sums are over the pairs whose elements
// are both finite.
struct PairPartial {
  uint64_t count;
  uint64_t finite_count;
  uint64_t changed_count;
  double change_abs_sum;
  double change_abs_max;
  double change_squares;
  double previous_abs_sum;
  double previous_squares;
  // As above.
  uint64_t scaled;
};

struct Result {
  union {
    Partial statistics;
    PairPartial pair;
  };
};

// Where a result arrives: memory of the host that the device writes to. The
// result is there when `sequence` has the number that the host asked for.
struct alignas(64) ResultSlot : Result {
  uint64_t sequence;
};

// Shared by the blocks that work on one tensor. All memory of the device but
// `result`.
struct Meeting {
  // One for each block; null where there is but one.
  void* partials;
  // Blocks that are done; 0 before and after.
  uint32_t* arrived;
  ResultSlot* result;
  uint64_t sequence;
};

// Elements side by side.
struct Item {
  const void* data;
  uint64_t count;
  Meeting meeting;
  // This item's blocks among those of the launch.
  uint32_t first_block;
  uint32_t block_count;
};

struct Batch {
  uint32_t count;
  Item items[kMaxItems];
};
static_assert(sizeof(Batch) <= 4096, "fits into a kernel's arguments");

// Elements anywhere: element i of the layout is at the sum of its indices
// times the strides. The first dimension varies fastest.
struct Grid {
  int32_t ndim;
  uint64_t sizes[kMaxLayoutDimensions];
};

struct StridedItem {
  const void* data;
  uint64_t count;
  Meeting meeting;
  // In elements.
  Grid grid;
  int64_t strides[kMaxLayoutDimensions];
  // What in_range_count counts, ends included.
  double range_start;
  double range_end;
};

struct PairItem {
  const void* now;
  const void* previous;
  uint64_t count;
  Meeting meeting;
  Grid grid;
  int64_t now_strides[kMaxLayoutDimensions];
  int64_t previous_strides[kMaxLayoutDimensions];
  // What changed_count does not count, as in Tolerance.
  double rtol;
  double atol;
  uint32_t equal_nan;
};

// Copies elements [first, first + count) of a layout side by side.
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
