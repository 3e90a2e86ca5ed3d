#include "agent/kernels/cpu/cpu_statistics.h"

#include <algorithm>
#include <cstring>

#include "agent/kernels/cpu/chunk.h"
#include "agent/tensor/layout.h"

namespace graphdbg::cpu {
namespace {

// Shorter runs are copied together first.
constexpr int64_t kDirectRun = 512;
constexpr size_t kPackBytes = 8192;

class Scan {
 public:
  explicit Scan(DType dtype)
      : dtype_(dtype),
        item_size_(ItemSize(dtype)),
        chunk_(ChunkFunctionFor(dtype)) {}

  void AddRun(const char* p, int64_t n) {
    while (n > 0) {
      const auto size = static_cast<size_t>(
          std::min<int64_t>(n, static_cast<int64_t>(kChunkElements)));
      AddChunk(p, size);
      p += size * item_size_;
      n -= static_cast<int64_t>(size);
    }
  }

  // Short runs are gathered in a buffer of some thousand bytes.
  void AddShortRuns(const Layout& layout) {
    alignas(64) char buffer[kPackBytes];
    const size_t run_bytes =
        static_cast<size_t>(layout.run_length()) * item_size_;
    size_t filled = 0;
    for (RunWalker walker(layout, item_size_); !walker.done(); walker.Next()) {
      if (filled + run_bytes > kPackBytes) {
        AddChunk(buffer, filled / item_size_);
        filled = 0;
      }
      std::memcpy(buffer + filled, walker.run(), run_bytes);
      filled += run_bytes;
    }
    if (filled > 0) AddChunk(buffer, filled / item_size_);
  }

  const Moments& moments() const { return moments_; }

 private:
  void AddChunk(const char* p, size_t n) {
    ChunkSums sums;
    chunk_(p, n, &sums);
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
  const std::optional<Layout> layout = Layout::Of(view);
  if (!layout) return false;
  Scan scan(view.dtype);
  if (layout->run_length() < kDirectRun) {
    if (layout->count > 0) scan.AddShortRuns(*layout);
  } else {
    for (RunWalker walker(*layout, ItemSize(view.dtype)); !walker.done();
         walker.Next()) {
      scan.AddRun(walker.run(), layout->run_length());
    }
  }
  *statistics =
      scan.moments().Finish(static_cast<uint64_t>(layout->multiplicity));
  return true;
}

std::optional<bool> AllFinite(const TensorView& view) {
  Statistics statistics;
  if (!ComputeStatistics(view, &statistics)) return std::nullopt;
  return statistics.finite_count() == statistics.count;
}

}  // namespace graphdbg::cpu
