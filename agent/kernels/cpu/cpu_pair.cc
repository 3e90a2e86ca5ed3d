#include "agent/kernels/cpu/cpu_pair.h"

#include <algorithm>
#include <cmath>

#include "agent/kernels/cpu/pair.h"
#include "agent/kernels/cpu/scan.h"
#include "agent/kernels/reference/reference.h"

namespace graphdbg::cpu {
namespace {

constexpr int64_t kChunk = 4096;

bool SameShape(const TensorView& a, const TensorView& b) {
  return a.dtype == b.dtype && a.ndim == b.ndim &&
         std::equal(a.shape, a.shape + a.ndim, b.shape);
}

// What is left to the reference: integers, and views whose elements do not lie
// side by side in the same order.
bool IsPlain(const TensorView& now, const TensorView& previous) {
  return IsFloating(now.dtype) && now.element_count() &&
         SameShape(now, previous) && IsRowMajor(now) && IsRowMajor(previous);
}

// Calls visit(views of a chunk of each), in order.
template <class Visit>
void ForChunks(const TensorView& now, const TensorView& previous,
               const Visit& visit) {
  const int64_t count = *now.element_count();
  const auto item_size = static_cast<int64_t>(ItemSize(now.dtype));
  for (int64_t at = 0; at < count; at += kChunk) {
    const int64_t size = std::min(kChunk, count - at);
    const auto part = [&](const TensorView& view) {
      return TensorView{view.dtype,
                        static_cast<const char*>(view.data) + at * item_size, 1,
                        &size, nullptr};
    };
    visit(part(now), part(previous), static_cast<size_t>(size));
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

  // Of a chunk that had to be looked at number by number.
  void Add(const PairStatistics& s) {
    const long double n = static_cast<long double>(s.finite_count);
    change_ += s.change_abs_mean * n;
    change_squares_ += Square(s.change_l2);
    previous_ += s.previous_abs_mean * n;
    previous_squares_ += Square(s.previous_l2);
    Count(s.count, s.finite_count, s.change_abs_max);
  }

  PairStatistics Finish() const {
    PairStatistics s = totals_;
    if (s.finite_count == 0) return s;
    const long double n = static_cast<long double>(s.finite_count);
    s.change_abs_mean = static_cast<double>(change_ / n);
    s.change_l2 = static_cast<double>(std::sqrt(change_squares_));
    s.previous_abs_mean = static_cast<double>(previous_ / n);
    s.previous_l2 = static_cast<double>(std::sqrt(previous_squares_));
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
  if (!IsPlain(now, previous)) {
    return reference::ComparePair(now, previous, statistics);
  }
  PairTotals totals;
  ForChunks(now, previous,
            [&](const TensorView& a, const TensorView& b, size_t n) {
              const PairSums sums = SumPairs(a.dtype, a.data, b.data, n);
              if (std::isfinite(sums.change_squares + sums.previous_squares)) {
                return totals.Add(sums, n);
              }
              PairStatistics slow;
              reference::ComparePair(a, b, &slow);
              totals.Add(slow);
            });
  *statistics = totals.Finish();
  return true;
}

std::optional<uint64_t> CountChanged(const TensorView& now,
                                     const TensorView& previous,
                                     const Tolerance& tolerance) {
  if (!IsPlain(now, previous)) {
    return reference::CountChanged(now, previous, tolerance);
  }
  uint64_t changed = 0;
  ForChunks(
      now, previous, [&](const TensorView& a, const TensorView& b, size_t n) {
        bool finite = true;
        const uint64_t close =
            CountClose(a.dtype, a.data, b.data, n, tolerance, &finite);
        changed +=
            finite ? n - close : *reference::CountChanged(a, b, tolerance);
      });
  return changed;
}

}  // namespace graphdbg::cpu
