#include "agent/kernels/cpu/cpu_statistics.h"

#include <algorithm>
#include <cstring>

#include "agent/kernels/cpu/chunk.h"
#include "agent/kernels/cpu/scan.h"

namespace graphdbg::cpu {
namespace {

class Sums {
 public:
  explicit Sums(DType dtype)
      : dtype_(dtype),
        item_size_(ItemSize(dtype)),
        chunk_(ChunkFunctionFor(dtype)) {}

  void AddRun(const char* p, size_t n) {
    while (n > 0) {
      const size_t size = std::min(n, kChunkElements);
      AddChunk(p, size, FetchAhead((n - size) * item_size_));
      p += size * item_size_;
      n -= size;
    }
  }

  const Moments& moments() const { return moments_; }

 private:
  void AddChunk(const char* p, size_t n, size_t ahead) {
    ChunkSums sums;
    chunk_(p, n, ahead, &sums);
    if (!sums.overflowed()) return moments_.Merge(sums);
    for (size_t i = 0; i < n; ++i) {
      moments_.MergeValue(ElementAsDouble(dtype_, p + i * item_size_));
    }
  }

  const DType dtype_;
  const size_t item_size_;
  const ChunkFunction chunk_;
  Moments moments_;
};

}  // namespace

bool ComputeStatistics(const TensorView& view, Statistics* statistics) {
  if (!HasStatistics(view.dtype)) return false;
  Sums sums(view.dtype);
  const auto scanned = Scan(view, [&](const char* p, size_t n) {
    sums.AddRun(p, n);
    return true;
  });
  if (!scanned) return false;
  *statistics =
      sums.moments().Finish(static_cast<uint64_t>(scanned->multiplicity));
  return true;
}

}  // namespace graphdbg::cpu
