// Speed of the passes over tensors relative to a plain read of the same memory,
// by type and size, and the overhead of a call on tiny tensors.
//
//   bazel run -c opt //agent/kernels/cpu:cpu_statistics_benchmark
//
// Interleaves passes and prints medians to reduce noise from other programs.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "agent/kernels/cpu/cpu_statistics.h"
#include "agent/kernels/cpu/pairs.h"
#include "agent/kernels/cpu/plain_read.h"
#include "agent/kernels/cpu/quantiles.h"
#include "agent/kernels/cpu/sketch.h"

namespace graphdbg::cpu {
namespace {

constexpr int kRounds = 21;
constexpr size_t kBytesPerRound = 8 << 20;

enum Pass { kRead, kFinite, kSketch, kStatistics, kQuantiles, kPair, kPasses };
constexpr const char* kNames[] = {"plain read", "finite",    "sketch",
                                  "statistics", "quantiles", "pair"};

// Fills memory with numbers between -1 and 1.
void Fill(DType dtype, char* bytes, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const float x = static_cast<float>(i * 2654435761u % 1000) / 500.0f - 1;
    const double wide = x;
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    const auto brain = static_cast<uint16_t>(bits >> 16);
    // float16 from 0x0000 to 0x3BFF is 0 to 1.
    const auto half =
        static_cast<uint16_t>(i * 2654435761u % 0x3C00 | (i & 1) << 15);
    const void* from =
        dtype == DType::kFloat64    ? static_cast<const void*>(&wide)
        : dtype == DType::kFloat32  ? static_cast<const void*>(&x)
        : dtype == DType::kBfloat16 ? static_cast<const void*>(&brain)
                                    : static_cast<const void*>(&half);
    const size_t size = ItemSize(dtype);
    std::memcpy(bytes + i * size, from, size);
  }
}

volatile double sink;

void Run(Pass pass, const TensorView& view, size_t bytes) {
  Statistics statistics;
  PairStatistics pair;
  switch (pass) {
    case kRead:
      sink = PlainRead(view.data, bytes);
      return;
    case kFinite:
      sink = *AllFinite(view) ? 1 : 0;
      return;
    case kSketch:
      sink = ComputeSketch(view)->min;
      return;
    case kStatistics:
      ComputeStatistics(view, &statistics);
      sink = statistics.mean;
      return;
    case kQuantiles: {
      Quantiles quantiles;
      ComputeQuantiles(view, -1, 1, &quantiles);
      sink = quantiles.values[0];
      return;
    }
    default:
      ComparePair(view, view, &pair);
      sink = pair.change_l2;
  }
}

double Nanoseconds(Pass pass, const TensorView& view, size_t bytes,
                   size_t repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < repeats; ++i) Run(pass, view, bytes);
  const std::chrono::duration<double, std::nano> time =
      std::chrono::steady_clock::now() - start;
  return time.count() / static_cast<double>(repeats);
}

void Measure(DType dtype, size_t bytes) {
  // The alignment of PyTorch's tensors.
  const std::unique_ptr<char, decltype(&std::free)> memory(
      static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)),
      &std::free);
  const auto n = static_cast<int64_t>(bytes / ItemSize(dtype));
  Fill(dtype, memory.get(), static_cast<size_t>(n));
  const TensorView view{dtype, memory.get(), 1, &n, nullptr};
  const size_t repeats = std::clamp<size_t>(kBytesPerRound / bytes, 1, 10000);
  std::vector<double> times[kPasses];
  for (int round = 0; round < kRounds; ++round) {
    for (int pass = 0; pass < kPasses; ++pass) {
      times[pass].push_back(
          Nanoseconds(static_cast<Pass>(pass), view, bytes, repeats));
    }
  }
  std::printf("%-9s %9zu B", ToString(dtype), bytes);
  const auto median = [&](int pass) {
    auto& all = times[pass];
    std::nth_element(all.begin(), all.begin() + kRounds / 2, all.end());
    return all[kRounds / 2];
  };
  const double read = median(kRead);
  for (int pass = 0; pass < kPasses; ++pass) {
    const double time = median(pass);
    std::printf("  %s %.0f ns %.1f GB/s %.2f", kNames[pass], time,
                static_cast<double>(bytes) / time, read / time);
  }
  std::printf("\n");
}

}  // namespace
}  // namespace graphdbg::cpu

int main() {
  using graphdbg::DType;
  std::printf("time, bytes per second, speed relative to a plain read\n");
  for (size_t bytes : {32, 400, 4096, 40'000, 256 << 10, 16 << 20, 64 << 20}) {
    graphdbg::cpu::Measure(DType::kFloat32, bytes);
  }
  for (DType dtype : {DType::kBfloat16, DType::kFloat16, DType::kFloat64}) {
    for (size_t bytes : {400, 256 << 10, 16 << 20}) {
      graphdbg::cpu::Measure(dtype, bytes);
    }
  }
  return 0;
}
