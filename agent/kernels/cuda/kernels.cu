// The kernels: one pass over a tensor's elements. Blocks write their sums to
// device memory; the last block to finish merges them, always in the same
// order, and writes the result to host memory.
#include "agent/kernels/cuda/thread_work.h"

namespace graphdbg::cuda {
namespace {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kWarps = kThreadsPerBlock / kWarp;
// Resident blocks per multiprocessor: enough to keep loads in flight at all
// times. Limits the registers per thread.
constexpr uint32_t kBlocksPerMultiprocessor = 3;

template <class T>
__device__ T ShuffleDown(const T& value, uint32_t distance) {
  constexpr int kWords = sizeof(T) / sizeof(uint64_t);
  static_assert(sizeof(T) == kWords * sizeof(uint64_t), "whole words");
  unsigned long long words[kWords];
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    words[i] = __shfl_down_sync(0xFFFFFFFF, words[i], distance);
  }
  T other;
  memcpy(&other, words, sizeof(T));
  return other;
}

template <class T>
__device__ T ReduceWarp(T value) {
#pragma unroll 1
  for (uint32_t distance = kWarp / 2; distance > 0; distance /= 2) {
    Merge(&value, ShuffleDown(value, distance));
  }
  return value;
}

// Reduces over the block; the result is valid in thread 0.
template <class T>
__device__ T ReduceBlock(T value) {
  __shared__ T warp_values[kWarps];
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t warp = threadIdx.x / kWarp;
  value = ReduceWarp(value);
  if (lane == 0) warp_values[warp] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (uint32_t i = 1; i < kWarps; ++i) Merge(&value, warp_values[i]);
  }
  __syncthreads();
  return value;
}

__device__ void Put(const Partial& value, ResultSlot* slot) {
  slot->statistics = value;
}
__device__ void Put(const PairPartial& value, ResultSlot* slot) {
  slot->pair = value;
}

template <class T>
__device__ void Publish(const T& value, const Reduction& reduction) {
  Put(value, reduction.result);
  // The host must not see the sequence number before the result.
  __threadfence_system();
  *reinterpret_cast<volatile uint64_t*>(&reduction.result->sequence) =
      reduction.sequence;
}

// Called by all threads of a block with their sums; `empty` is the neutral
// element.
template <class T>
__device__ void Finish(const T& mine, const T& empty,
                       const Reduction& reduction, uint32_t block,
                       uint32_t blocks) {
  const T block_value = ReduceBlock(mine);
  if (blocks == 1) {
    if (threadIdx.x == 0) Publish(block_value, reduction);
    return;
  }
  __shared__ bool is_last;
  T* const partials = static_cast<T*>(reduction.partials);
  if (threadIdx.x == 0) {
    partials[block] = block_value;
    __threadfence();
    is_last = atomicAdd(reduction.finished_blocks, 1u) == blocks - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  T merged = empty;
  for (uint32_t i = threadIdx.x; i < blocks; i += kThreadsPerBlock) {
    Merge(&merged, partials[i]);
  }
  merged = ReduceBlock(merged);
  if (threadIdx.x != 0) return;
  *reduction.finished_blocks = 0;
  Publish(merged, reduction);
}

__device__ const Item& ItemOfBlock(const Batch& batch) {
  uint32_t low = 0;
  uint32_t high = batch.count - 1;
  while (low < high) {
    const uint32_t middle = (low + high + 1) / 2;
    if (batch.items[middle].first_block <= blockIdx.x) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return batch.items[low];
}

template <class Element>
__device__ void Statistics(const Batch& batch) {
  const Item& item = ItemOfBlock(batch);
  const uint32_t block = blockIdx.x - item.first_block;
  const Partial mine =
      SumShare<Element>(item, block * kThreadsPerBlock + threadIdx.x,
                        item.block_count * kThreadsPerBlock);
  Finish(mine, EmptyPartial(mine.origin), item.reduction, block,
         item.block_count);
}

template <class Element>
__device__ void Strided(const StridedItem& item) {
  const Partial mine =
      SumShare<Element>(item, blockIdx.x * kThreadsPerBlock + threadIdx.x,
                        gridDim.x * kThreadsPerBlock);
  Finish(mine, EmptyPartial(mine.origin), item.reduction, blockIdx.x,
         gridDim.x);
}

template <class Element>
__device__ void Pair(const PairItem& item) {
  const PairPartial mine =
      SumShare<Element>(item, blockIdx.x * kThreadsPerBlock + threadIdx.x,
                        gridDim.x * kThreadsPerBlock);
  Finish(mine, PairPartial{}, item.reduction, blockIdx.x, gridDim.x);
}

}  // namespace

#define GRAPHDBG_KERNELS(Type)                                           \
  extern "C" __global__ void __launch_bounds__(kThreadsPerBlock,         \
                                               kBlocksPerMultiprocessor) \
      Statistics##Type(const __grid_constant__ Batch batch) {            \
    Statistics<Type>(batch);                                             \
  }                                                                      \
  extern "C" __global__ void __launch_bounds__(kThreadsPerBlock)         \
      Strided##Type(const __grid_constant__ StridedItem item) {          \
    Strided<Type>(item);                                                 \
  }                                                                      \
  extern "C" __global__ void __launch_bounds__(kThreadsPerBlock)         \
      Pair##Type(const __grid_constant__ PairItem item) {                \
    Pair<Type>(item);                                                    \
  }
GRAPHDBG_FOR_EACH_ELEMENT(GRAPHDBG_KERNELS)

#define GRAPHDBG_GATHER(bytes, Raw)                                     \
  extern "C" __global__ void __launch_bounds__(kThreadsPerBlock)        \
      Gather##bytes(const __grid_constant__ GatherItem item) {          \
    GatherShare<Raw>(item, blockIdx.x * kThreadsPerBlock + threadIdx.x, \
                     uint64_t{gridDim.x} * kThreadsPerBlock);           \
  }
GRAPHDBG_GATHER(1, uint8_t)
GRAPHDBG_GATHER(2, uint16_t)
GRAPHDBG_GATHER(4, uint32_t)
GRAPHDBG_GATHER(8, uint64_t)
GRAPHDBG_GATHER(16, Vector)

}  // namespace graphdbg::cuda
