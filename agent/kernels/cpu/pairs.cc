#include "agent/kernels/cpu/pairs.h"

#include <algorithm>
#include <cmath>

#include "agent/kernels/cpu/pairs_simd.h"
#include "agent/kernels/cpu/scan.h"
#include "agent/kernels/reference/reference.h"

namespace graphdbg::cpu {
namespace {

constexpr int64_t kChunk = 4096;
// The first chunk is small because it often decides the result.
constexpr int64_t kFirstLook = 64;

bool SameShape(const TensorView& a, const TensorView& b) {
  return a.dtype == b.dtype && a.ndim == b.ndim &&
         std::equal(a.shape, a.shape + a.ndim, b.shape);
}

bool SameStrides(const TensorView& a, const TensorView& b) {
  return a.strides != nullptr && b.strides != nullptr &&
         std::equal(a.strides, a.strides + a.ndim, b.strides);
}

// Two views whose elements are contiguous and in the same memory order. Each
// element occurs `multiplicity` times.
struct Pairs {
  DType dtype;
  const char* now;
  const char* previous;
  int64_t count;
  int64_t multiplicity = 1;
};

// Absent for integers and for all other views, which the reference handles.
std::optional<Pairs> PairsOf(const TensorView& now,
                             const TensorView& previous) {
  const std::optional<int64_t> count = now.element_count();
  if (!IsFloating(now.dtype) || !count || !SameShape(now, previous)) {
    return std::nullopt;
  }
  const char* const data = static_cast<const char*>(now.data);
  const char* const old_data = static_cast<const char*>(previous.data);
  if (IsRowMajor(now) && IsRowMajor(previous)) {
    return Pairs{now.dtype, data, old_data, *count};
  }
  if (!SameStrides(now, previous)) return std::nullopt;
  // Such as transposed matrices.
  const std::optional<Layout> layout = Layout::Of(now);
  if (!layout || !layout->is_one_run()) return std::nullopt;
  return Pairs{now.dtype, layout->base, old_data + (layout->base - data),
               layout->count, layout->multiplicity};
}

// Calls visit() with views of corresponding chunks, in order, until it returns
// false. The first chunk has `size` elements, later ones more.
template <class Visit>
void ForChunks(const Pairs& pairs, int64_t size, const Visit& visit) {
  const auto item_size = static_cast<int64_t>(ItemSize(pairs.dtype));
  for (int64_t at = 0; at < pairs.count;) {
    size = std::min(size, pairs.count - at);
    const auto part = [&](const char* data) {
      return TensorView{pairs.dtype, data + at * item_size, 1, &size, nullptr};
    };
    if (!visit(part(pairs.now), part(pairs.previous),
               static_cast<size_t>(size))) {
      return;
    }
    at += size;
    size = std::min(2 * size, kChunk);
  }
}

class PairTotals {
 public:
  void Add(const PairSums& sums, uint64_t n) {
    change_ += sums.change;
    change_squares_ += sums.change_squares;
    previous_ += sums.previous;
    previous_squares_ += sums.previous_squares;
    Count(n, n, sums.change_max);
  }

  // Adds the result of the reference for a chunk with non-finite elements.
  void Add(const PairStatistics& s) {
    const long double n = static_cast<long double>(s.finite_count);
    change_ += s.change_abs_mean * n;
    change_squares_ += Square(s.change_l2);
    previous_ += s.previous_abs_mean * n;
    previous_squares_ += Square(s.previous_l2);
    Count(s.count, s.finite_count, s.change_abs_max);
  }

  // Counts every pair `multiplicity` times.
  PairStatistics Finish(int64_t multiplicity) const {
    PairStatistics s = totals_;
    const long double n = static_cast<long double>(s.finite_count);
    const long double times = static_cast<long double>(multiplicity);
    s.count *= static_cast<uint64_t>(multiplicity);
    s.finite_count *= static_cast<uint64_t>(multiplicity);
    if (s.finite_count == 0) return s;
    s.change_abs_mean = static_cast<double>(change_ / n);
    s.change_l2 = static_cast<double>(std::sqrt(change_squares_ * times));
    s.previous_abs_mean = static_cast<double>(previous_ / n);
    s.previous_l2 = static_cast<double>(std::sqrt(previous_squares_ * times));
    return s;
  }

 private:
  static long double Square(long double x) { return x * x; }

  void Count(uint64_t n, uint64_t finite, double change_max) {
    totals_.count += n;
    totals_.finite_count += finite;
    totals_.change_abs_max = std::max(totals_.change_abs_max, change_max);
  }

  PairStatistics totals_;
  long double change_ = 0, change_squares_ = 0;
  long double previous_ = 0, previous_squares_ = 0;
};

}  // namespace

std::optional<uint64_t> CountInRange(const TensorView& view, double start,
                                     double end) {
  if (!IsFloating(view.dtype)) return reference::CountInRange(view, start, end);
  uint64_t within = 0;
  const auto scanned = Scan(view, [&](const char* p, size_t n) {
    within += CountWithin(view.dtype, p, n, start, end);
    return true;
  });
  if (!scanned) return std::nullopt;
  return within * static_cast<uint64_t>(scanned->multiplicity);
}

bool ComparePair(const TensorView& now, const TensorView& previous,
                 PairStatistics* statistics) {
  const std::optional<Pairs> pairs = PairsOf(now, previous);
  if (!pairs) return reference::ComparePair(now, previous, statistics);
  PairTotals totals;
  ForChunks(*pairs, kChunk,
            [&](const TensorView& a, const TensorView& b, size_t n) {
              const PairSums sums = SumPairs(a.dtype, a.data, b.data, n);
              if (std::isfinite(sums.change_squares + sums.previous_squares)) {
                totals.Add(sums, n);
                return true;
              }
              PairStatistics slow;
              reference::ComparePair(a, b, &slow);
              totals.Add(slow);
              return true;
            });
  *statistics = totals.Finish(pairs->multiplicity);
  return true;
}

std::optional<uint64_t> CountChanged(const TensorView& now,
                                     const TensorView& previous,
                                     const Tolerance& tolerance,
                                     uint64_t enough) {
  const std::optional<Pairs> pairs = PairsOf(now, previous);
  if (!pairs) return reference::CountChanged(now, previous, tolerance);
  const auto multiplicity = static_cast<uint64_t>(pairs->multiplicity);
  uint64_t changed = 0;
  ForChunks(*pairs, kFirstLook,
            [&](const TensorView& a, const TensorView& b, size_t n) {
              bool finite = true;
              const uint64_t close =
                  CountClose(a.dtype, a.data, b.data, n, tolerance, &finite);
              const uint64_t found =
                  finite ? n - close
                         : *reference::CountChanged(a, b, tolerance);
              changed += found * multiplicity;
              return changed < enough;
            });
  return changed;
}

}  // namespace graphdbg::cpu
