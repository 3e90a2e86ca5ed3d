#include "agent/kernels/cuda/emulated.h"

#include <cstring>
#include <functional>
#include <map>
#include <vector>

#include "agent/kernels/cuda/thread_work.h"

namespace graphdbg::cuda {
namespace {

constexpr uint32_t kWarp = 32;

// Merges in the same order as a block.
template <class T>
T ReduceBlock(std::vector<T> values) {
  for (size_t warp = 0; warp < values.size(); warp += kWarp) {
    for (size_t distance = kWarp / 2; distance > 0; distance /= 2) {
      for (size_t i = warp; i < warp + distance; ++i) {
        Merge(&values[i], values[i + distance]);
      }
    }
  }
  for (size_t warp = kWarp; warp < values.size(); warp += kWarp) {
    Merge(&values[0], values[warp]);
  }
  return values[0];
}

void Put(const Partial& value, ResultSlot* slot) { slot->statistics = value; }
void Put(const PairPartial& value, ResultSlot* slot) { slot->pair = value; }

// `sum(thread, threads)` returns the result of one thread.
template <class T, class Sum>
void Run(const Reduction& reduction, uint32_t blocks, const T& empty,
         const Sum& sum) {
  std::vector<T> partials;
  for (uint32_t block = 0; block < blocks; ++block) {
    std::vector<T> threads;
    for (uint32_t t = 0; t < kThreadsPerBlock; ++t) {
      threads.push_back(
          sum(block * kThreadsPerBlock + t, blocks * kThreadsPerBlock));
    }
    partials.push_back(ReduceBlock(std::move(threads)));
  }
  T result = partials[0];
  if (blocks > 1) {
    // Like on a device, partials go through the memory provided for them.
    std::memcpy(reduction.partials, partials.data(), blocks * sizeof(T));
    std::vector<T> merged(kThreadsPerBlock, empty);
    for (uint32_t i = 0; i < blocks; ++i) {
      Merge(&merged[i % kThreadsPerBlock], partials[i]);
    }
    result = ReduceBlock(std::move(merged));
  }
  Put(result, reduction.result);
  __atomic_store_n(&reduction.result->sequence, reduction.sequence,
                   __ATOMIC_RELEASE);
}

template <class Element>
void Statistics(uint32_t, const void* argument) {
  const auto& batch = *static_cast<const Batch*>(argument);
  for (uint32_t i = 0; i < batch.count; ++i) {
    const Item& item = batch.items[i];
    Run(item.reduction, item.block_count,
        EmptyPartial(OriginOf<Element>(item.data)),
        [&](uint32_t thread, uint32_t threads) {
          return SumShare<Element>(item, thread, threads);
        });
  }
}

template <class Element>
void Strided(uint32_t blocks, const void* argument) {
  const auto& item = *static_cast<const StridedItem*>(argument);
  Run(item.reduction, blocks, EmptyPartial(OriginOf<Element>(item.data)),
      [&](uint32_t thread, uint32_t threads) {
        return SumShare<Element>(item, thread, threads);
      });
}

template <class Element>
void Pair(uint32_t blocks, const void* argument) {
  const auto& item = *static_cast<const PairItem*>(argument);
  Run(item.reduction, blocks, PairPartial{},
      [&](uint32_t thread, uint32_t threads) {
        return SumShare<Element>(item, thread, threads);
      });
}

template <class Raw>
void Gather(uint32_t blocks, const void* argument) {
  const auto& item = *static_cast<const GatherItem*>(argument);
  const uint64_t threads = uint64_t{blocks} * kThreadsPerBlock;
  for (uint64_t t = 0; t < threads; ++t) GatherShare<Raw>(item, t, threads);
}

using Kernel = std::function<void(uint32_t blocks, const void* argument)>;

std::map<std::string, Kernel> AllKernels() {
  std::map<std::string, Kernel> kernels = {
      {"Gather1", Gather<uint8_t>},  {"Gather2", Gather<uint16_t>},
      {"Gather4", Gather<uint32_t>}, {"Gather8", Gather<uint64_t>},
      {"Gather16", Gather<Vector>},
  };
#define GRAPHDBG_ADD(Type)                        \
  kernels["Statistics" #Type] = Statistics<Type>; \
  kernels["Strided" #Type] = Strided<Type>;       \
  kernels["Pair" #Type] = Pair<Type>;
  GRAPHDBG_FOR_EACH_ELEMENT(GRAPHDBG_ADD)
#undef GRAPHDBG_ADD
  return kernels;
}

const std::map<std::string, Kernel>& Kernels() {
  static const auto* kernels = new std::map<std::string, Kernel>(AllKernels());
  return *kernels;
}

}  // namespace

bool HasKernel(const std::string& kernel) {
  return Kernels().count(kernel) > 0;
}

bool RunEmulated(const std::string& kernel, uint32_t blocks,
                 const void* argument) {
  const auto it = Kernels().find(kernel);
  if (it == Kernels().end()) return false;
  it->second(blocks, argument);
  return true;
}

}  // namespace graphdbg::cuda
