// The kernels: one pass over a tensor's elements. Blocks leave their sums in
// the device's memory; the last one to finish merges them, always in the same
// order, and writes the result to the host.
#include "agent/kernels/cuda/thread_work.h"

namespace graphdbg::cuda {
namespace {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kWarps = kThreadsPerBlock / kWarp;
// Blocks that share a multiprocessor: so many loads are under way at a time
// that memory is never idle. It bounds the registers of a thread.
constexpr uint32_t kBlocksAtATime = 3;

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

// The whole block's, in thread 0.
template <class T>
__device__ T ReduceBlock(T value) {
  __shared__ T of_warps[kWarps];
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t warp = threadIdx.x / kWarp;
  value = ReduceWarp(value);
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (uint32_t i = 1; i < kWarps; ++i) Merge(&value, of_warps[i]);
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
__device__ void Publish(const T& value, const Meeting& meeting) {
  Put(value, meeting.result);
  // The host must not see the number before it can see the result.
  __threadfence_system();
  *reinterpret_cast<volatile uint64_t*>(&meeting.result->sequence) =
      meeting.sequence;
}

// Of all threads of a block, with their sums; `empty` is the sum of nothing.
template <class T>
__device__ void Finish(const T& mine, const T& empty, const Meeting& meeting,
                       uint32_t block, uint32_t blocks) {
  const T of_block = ReduceBlock(mine);
  if (blocks == 1) {
    if (threadIdx.x == 0) Publish(of_block, meeting);
    return;
  }
  __shared__ bool is_last;
  T* const partials = static_cast<T*>(meeting.partials);
  if (threadIdx.x == 0) {
    partials[block] = of_block;
    __threadfence();
    is_last = atomicAdd(meeting.arrived, 1u) == blocks - 1;
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
  *meeting.arrived = 0;
  Publish(merged, meeting);
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
  Finish(mine, EmptyPartial(mine.origin), item.meeting, block,
         item.block_count);
}

template <class Element>
__device__ void Strided(const StridedItem& item) {
  const Partial mine =
      SumShare<Element>(item, blockIdx.x * kThreadsPerBlock + threadIdx.x,
                        gridDim.x * kThreadsPerBlock);
  Finish(mine, EmptyPartial(mine.origin), item.meeting, blockIdx.x, gridDim.x);
}

template <class Element>
__device__ void Pair(const PairItem& item) {
  const PairPartial mine =
      SumShare<Element>(item, blockIdx.x * kThreadsPerBlock + threadIdx.x,
                        gridDim.x * kThreadsPerBlock);
  Finish(mine, PairPartial{}, item.meeting, blockIdx.x, gridDim.x);
}

}  // namespace

#define GRAPHDBG_KERNELS(Type)                                   \
  extern "C" __global__ void __launch_bounds__(kThreadsPerBlock, \
                                               kBlocksAtATime)   \
      Statistics##Type(const __grid_constant__ Batch batch) {    \
    Statistics<Type>(batch);                                     \
  }                                                              \
  extern "C" __global__ void __launch_bounds__(kThreadsPerBlock) \
      Strided##Type(const __grid_constant__ StridedItem item) {  \
    Strided<Type>(item);                                         \
  }                                                              \
  extern "C" __global__ void __launch_bounds__(kThreadsPerBlock) \
      Pair##Type(const __grid_constant__ PairItem item) {        \
    Pair<Type>(item);                                            \
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
