// Bytes per second of the statistics pass, beside those of a plain copy.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "agent/kernels/cpu/cpu_statistics.h"
#include "benchmark/benchmark.h"

namespace graphdbg::cpu {
namespace {

constexpr int64_t kBytes = 64 << 20;

void Statistics64MiB(benchmark::State& state) {
  const auto dtype = static_cast<DType>(state.range(0));
  const bool all_nan = state.range(1) != 0;
  std::vector<char> memory(kBytes, all_nan ? '\xFF' : '\x01');
  const int64_t shape[] = {kBytes / static_cast<int64_t>(ItemSize(dtype))};
  const TensorView view{dtype, memory.data(), 1, shape, nullptr};
  Statistics statistics;
  for (auto _ : state) {
    ComputeStatistics(view, &statistics);
    benchmark::DoNotOptimize(statistics);
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
  state.SetLabel(NumpyName(dtype));
}

void Columns(benchmark::State& state) {
  std::vector<float> memory(16 << 20, 1.0f);
  const int64_t shape[] = {1 << 14, state.range(0)}, strides[] = {1024, 1};
  const TensorView view{DType::kFloat32, memory.data(), 2, shape, strides};
  Statistics statistics;
  for (auto _ : state) {
    ComputeStatistics(view, &statistics);
    benchmark::DoNotOptimize(statistics);
  }
  state.SetBytesProcessed(state.iterations() * shape[0] * shape[1] * 4);
}

void Small(benchmark::State& state) {
  std::vector<float> memory(static_cast<size_t>(state.range(0)), 1.0f);
  const int64_t shape[] = {state.range(0)};
  const TensorView view{DType::kFloat32, memory.data(), 1, shape, nullptr};
  Statistics statistics;
  for (auto _ : state) {
    ComputeStatistics(view, &statistics);
    benchmark::DoNotOptimize(statistics);
  }
}

void Read64MiB(benchmark::State& state) {
  std::vector<uint64_t> memory(kBytes / 8, 1);
  for (auto _ : state) {
    uint64_t sum = 0;
    for (uint64_t x : memory) sum += x;
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}

BENCHMARK(Read64MiB);
BENCHMARK(Statistics64MiB)->ArgsProduct({{1, 3, 4, 5, 10, 11, 12, 13}, {0}});
BENCHMARK(Statistics64MiB)->ArgsProduct({{10, 11, 12, 13}, {1}});
BENCHMARK(Columns)->Arg(1)->Arg(16)->Arg(256);
BENCHMARK(Small)->Arg(1)->Arg(64)->Arg(4096);

}  // namespace
}  // namespace graphdbg::cpu
