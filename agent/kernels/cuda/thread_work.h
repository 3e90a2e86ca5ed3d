// The work of one thread of a launch on its share of a tensor. `thread` is its
// index among the `threads` that process the tensor.
#ifndef AGENT_KERNELS_CUDA_THREAD_WORK_H_
#define AGENT_KERNELS_CUDA_THREAD_WORK_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "agent/kernels/cuda/load.h"
#include "agent/kernels/cuda/merge.h"
#include "agent/kernels/cuda/packed_sums.h"
#include "agent/kernels/cuda/pair_sums.h"
#include "agent/kernels/cuda/sums.h"
#include "agent/kernels/cuda/work.h"

namespace graphdbg::cuda {

template <class Element>
GRAPHDBG_PORTABLE double OriginOf(const void* first) {
  const auto raw = LoadOne<typename Element::Raw>(first, 0);
  return Element::IsFinite(raw) ? static_cast<double>(Element::Value(raw)) : 0;
}

template <class Element>
using SumsOf =
    std::conditional_t<Element::kFloating && sizeof(typename Element::Raw) == 2,
                       PackedSums<Element>, Sums<Element>>;

template <class Element>
GRAPHDBG_PORTABLE Partial SumShare(const Item& item, uint32_t thread,
                                   uint32_t threads) {
  using Raw = typename Element::Raw;
  constexpr uint32_t kPerVector = sizeof(Vector) / sizeof(Raw);
  // Loads in flight at the same time.
  constexpr int kInFlight = 4;
  SumsOf<Element> sums(OriginOf<Element>(item.data));
  const auto address = reinterpret_cast<uintptr_t>(item.data);
  uint64_t head = (16 - address % 16) % 16 / sizeof(Raw);
  if (head > item.count) head = item.count;
  const uint64_t vectors = (item.count - head) / kPerVector;
  const char* const body =
      static_cast<const char*>(item.data) + head * sizeof(Raw);
  uint64_t v = thread;
  for (; v + (kInFlight - 1) * uint64_t{threads} < vectors;
       v += kInFlight * uint64_t{threads}) {
    Vector loaded[kInFlight];
    GRAPHDBG_UNROLL
    for (int i = 0; i < kInFlight; ++i) {
      loaded[i] =
          LoadVector(body + (v + i * uint64_t{threads}) * sizeof(Vector));
    }
    sums.AddVectors(loaded);
  }
  for (; v < vectors; v += threads) {
    const Vector loaded[] = {LoadVector(body + v * sizeof(Vector))};
    sums.AddVectors(loaded);
  }
  for (uint64_t i = thread; i < head; i += threads) {
    sums.Add(LoadOne<Raw>(item.data, i));
  }
  for (uint64_t i = head + vectors * kPerVector + thread; i < item.count;
       i += threads) {
    sums.Add(LoadOne<Raw>(item.data, i));
  }
  return sums.Finish();
}

template <class Index>
GRAPHDBG_PORTABLE int64_t OffsetIn(Index i, const Grid& grid,
                                   const int64_t* strides) {
  int64_t offset = 0;
  for (int32_t d = 0; d < grid.ndim; ++d) {
    // Always true in the last dimension, which needs no division.
    if (i < grid.sizes[d]) return offset + static_cast<int64_t>(i) * strides[d];
    const Index size = static_cast<Index>(grid.sizes[d]);
    offset += static_cast<int64_t>(i % size) * strides[d];
    i /= size;
  }
  return offset;
}

// The offset of element i of a layout, in the unit of the strides.
GRAPHDBG_PORTABLE int64_t OffsetOf(uint64_t i, const Grid& grid,
                                   const int64_t* strides) {
  // 64-bit divisions are several times slower on a GPU.
  return i >> 32 == 0 ? OffsetIn(static_cast<uint32_t>(i), grid, strides)
                      : OffsetIn(i, grid, strides);
}

template <class Element>
GRAPHDBG_PORTABLE Partial SumShare(const StridedItem& item, uint32_t thread,
                                   uint32_t threads) {
  SumsOf<Element> sums(OriginOf<Element>(item.data));
  uint32_t in_range = 0;
  for (uint64_t i = thread; i < item.count; i += threads) {
    const int64_t at = OffsetOf(i, item.grid, item.strides);
    const auto raw =
        LoadOne<typename Element::Raw>(item.data, static_cast<uint64_t>(at));
    const auto x = static_cast<double>(Element::Value(raw));
    sums.Add(raw);
    in_range += x >= item.range_start && x <= item.range_end ? 1 : 0;
  }
  Partial p = sums.Finish();
  p.in_range_count = in_range;
  return p;
}

template <class Element>
GRAPHDBG_PORTABLE PairPartial SumShare(const PairItem& item, uint32_t thread,
                                       uint32_t threads) {
  using Raw = typename Element::Raw;
  PairPartial sums = {};
  for (uint64_t i = thread; i < item.count; i += threads) {
    const auto now =
        static_cast<uint64_t>(OffsetOf(i, item.grid, item.now_strides));
    const auto before =
        static_cast<uint64_t>(OffsetOf(i, item.grid, item.previous_strides));
    AddPair(static_cast<double>(Element::Value(LoadOne<Raw>(item.now, now))),
            static_cast<double>(
                Element::Value(LoadOne<Raw>(item.previous, before))),
            item, &sums);
  }
  return sums;
}

template <class Raw>
GRAPHDBG_PORTABLE void GatherShare(const GatherItem& item, uint64_t thread,
                                   uint64_t threads) {
  for (uint64_t i = thread; i < item.count; i += threads) {
    const int64_t at = OffsetOf(item.first + i, item.grid, item.strides);
    const Raw raw = LoadOne<Raw>(static_cast<const char*>(item.data) + at, 0);
    memcpy(static_cast<char*>(item.out) + i * sizeof(Raw), &raw, sizeof(raw));
  }
}

}  // namespace graphdbg::cuda

#endif  // AGENT_KERNELS_CUDA_THREAD_WORK_H_
