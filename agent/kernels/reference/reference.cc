#include "agent/kernels/reference/reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace graphdbg::reference {
namespace {

template <class T>
T Read(const void* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

float BfloatToFloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  return Read<float>(&wide);
}

double HalfToDouble(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1F;
  const int fraction = bits & 0x3FF;
  double magnitude;
  if (exponent == 0x1F) {
    magnitude = fraction != 0 ? std::nan("") : HUGE_VAL;
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else {
    magnitude = std::ldexp(fraction + 0x400, exponent - 25);
  }
  return bits & 0x8000 ? -magnitude : magnitude;
}

using Index = std::array<int64_t, kMaxDimensions>;

const void* AddressOf(const TensorView& view, const Index& index) {
  int64_t offset = 0, row_major = 1;
  for (size_t d = view.ndim; d-- > 0;) {
    offset += index[d] * (view.strides ? view.strides[d] : row_major);
    row_major *= view.shape[d];
  }
  return static_cast<const char*>(view.data) +
         offset * static_cast<int64_t>(ItemSize(view.dtype));
}

// Calls visit(index) for each element, in row-major order.
template <class Visit>
void ForEachIndex(const TensorView& view, int64_t count, const Visit& visit) {
  Index index{};
  for (int64_t n = 0; n < count; ++n) {
    visit(index);
    for (size_t d = view.ndim; d-- > 0;) {
      if (++index[d] < view.shape[d]) break;
      index[d] = 0;
    }
  }
}

// Calls visit(address) for each element.
template <class Visit>
void ForEach(const TensorView& view, int64_t count, const Visit& visit) {
  ForEachIndex(view, count,
               [&](const Index& index) { visit(AddressOf(view, index)); });
}

// Calls visit(now, previous) for each pair of elements. Returns false if the
// views differ in dtype or shape or have no statistics.
template <class Visit>
bool ForEachPair(const TensorView& now, const TensorView& previous,
                 const Visit& visit) {
  const std::optional<int64_t> count = now.element_count();
  if (!count || !HasStatistics(now.dtype) || now.dtype != previous.dtype ||
      now.ndim != previous.ndim ||
      !std::equal(now.shape, now.shape + now.ndim, previous.shape)) {
    return false;
  }
  const auto value = [](const TensorView& view, const Index& index) {
    return static_cast<double>(
        ElementValue(view.dtype, AddressOf(view, index)));
  };
  ForEachIndex(now, *count, [&](const Index& index) {
    visit(value(now, index), value(previous, index));
  });
  return true;
}

bool IsClose(double now, double previous, const Tolerance& tolerance) {
  if (std::isnan(now) || std::isnan(previous)) {
    return tolerance.equal_nan && std::isnan(now) && std::isnan(previous);
  }
  if (std::isinf(now) || std::isinf(previous)) return now == previous;
  return std::fabs(now - previous) <=
         tolerance.atol + tolerance.rtol * std::fabs(previous);
}

// Counts the element; returns whether it is finite.
bool Count(long double x, Statistics* s) {
  ++s->count;
  if (std::isnan(x)) {
    ++s->nan_count;
  } else if (std::isinf(x)) {
    ++(x > 0 ? s->pos_inf_count : s->neg_inf_count);
  } else if (x == 0) {
    ++s->zero_count;
  } else {
    ++(x > 0 ? s->positive_count : s->negative_count);
  }
  return std::isfinite(x);
}

}  // namespace

long double ElementValue(DType dtype, const void* p) {
  switch (dtype) {
    case DType::kBool:
      return Read<uint8_t>(p) != 0 ? 1 : 0;
    case DType::kInt8:
      return Read<int8_t>(p);
    case DType::kInt16:
      return Read<int16_t>(p);
    case DType::kInt32:
      return Read<int32_t>(p);
    case DType::kInt64:
      return Read<int64_t>(p);
    case DType::kUint8:
      return Read<uint8_t>(p);
    case DType::kUint16:
      return Read<uint16_t>(p);
    case DType::kUint32:
      return Read<uint32_t>(p);
    case DType::kUint64:
      return Read<uint64_t>(p);
    case DType::kFloat16:
      return HalfToDouble(Read<uint16_t>(p));
    case DType::kBfloat16:
      return BfloatToFloat(Read<uint16_t>(p));
    case DType::kFloat32:
      return Read<float>(p);
    case DType::kFloat64:
      return Read<double>(p);
    default:
      return 0;
  }
}

bool ComputeStatistics(const TensorView& view, Statistics* statistics) {
  const std::optional<int64_t> count = view.element_count();
  if (!count || !HasStatistics(view.dtype)) return false;
  Statistics s;
  long double sum = 0, abs_sum = 0, min = 0, max = 0;
  ForEach(view, *count, [&](const void* p) {
    const long double x = ElementValue(view.dtype, p);
    if (!Count(x, &s)) return;
    const bool first = s.finite_count() == 1;
    min = first ? x : std::min(min, x);
    max = first ? x : std::max(max, x);
    sum += x;
    abs_sum += std::fabs(x);
  });
  if (s.has_finite()) {
    const long double n = static_cast<long double>(s.finite_count());
    const long double rough_mean = sum / n;
    // The sum of distances would be 0 without rounding; it corrects the mean
    // and the variance.
    long double distances = 0, deviations = 0, squares = 0;
    ForEach(view, *count, [&](const void* p) {
      const long double x = ElementValue(view.dtype, p);
      if (!std::isfinite(x)) return;
      distances += x - rough_mean;
      deviations += (x - rough_mean) * (x - rough_mean);
      squares += x * x;
    });
    s.min = static_cast<double>(min);
    s.max = static_cast<double>(max);
    s.mean = static_cast<double>(rough_mean + distances / n);
    s.abs_mean = static_cast<double>(abs_sum / n);
    s.abs_max = std::max(std::fabs(s.min), std::fabs(s.max));
    s.variance = static_cast<double>(
        std::max(deviations - distances * distances / n, 0.0L) / n);
    s.l1 = static_cast<double>(abs_sum);
    s.l2 = static_cast<double>(std::sqrt(squares));
  }
  *statistics = s;
  return true;
}

std::optional<Quantiles> ComputeQuantiles(const TensorView& view) {
  const std::optional<int64_t> count = view.element_count();
  if (!count || !HasStatistics(view.dtype)) return std::nullopt;
  std::vector<double> elements;
  ForEach(view, *count, [&](const void* p) {
    const auto x = static_cast<double>(ElementValue(view.dtype, p));
    if (std::isfinite(x)) elements.push_back(x);
  });
  if (elements.empty()) return std::nullopt;
  std::sort(elements.begin(), elements.end());
  Quantiles quantiles;
  for (size_t i = 0; i < Quantiles::kPercents.size(); ++i) {
    size_t at = 0;
    while ((at + 1) * 100 <
           static_cast<size_t>(Quantiles::kPercents[i]) * elements.size()) {
      ++at;
    }
    quantiles.values[i] = elements[at];
  }
  return quantiles;
}

std::optional<uint64_t> CountInRange(const TensorView& view, double start,
                                     double end) {
  const std::optional<int64_t> count = view.element_count();
  if (!count || !HasStatistics(view.dtype)) return std::nullopt;
  uint64_t found = 0;
  ForEach(view, *count, [&](const void* p) {
    const auto x = static_cast<double>(ElementValue(view.dtype, p));
    found += x >= start && x <= end ? 1 : 0;
  });
  return found;
}

bool ComparePair(const TensorView& now, const TensorView& previous,
                 PairStatistics* statistics) {
  PairStatistics s;
  long double change = 0, change_squares = 0, old = 0, old_squares = 0;
  const bool same = ForEachPair(now, previous, [&](double x, double before) {
    ++s.count;
    if (!std::isfinite(x) || !std::isfinite(before)) return;
    ++s.finite_count;
    const double distance = std::fabs(x - before);
    const long double wide = distance, wide_before = std::fabs(before);
    s.change_abs_max = std::max(s.change_abs_max, distance);
    change += wide;
    change_squares += wide * wide;
    old += wide_before;
    old_squares += wide_before * wide_before;
  });
  if (!same) return false;
  if (s.finite_count > 0) {
    const long double n = static_cast<long double>(s.finite_count);
    s.change_abs_mean = static_cast<double>(change / n);
    s.change_l2 = static_cast<double>(std::sqrt(change_squares));
    s.previous_abs_mean = static_cast<double>(old / n);
    s.previous_l2 = static_cast<double>(std::sqrt(old_squares));
  }
  *statistics = s;
  return true;
}

std::optional<uint64_t> CountChanged(const TensorView& now,
                                     const TensorView& previous,
                                     const Tolerance& tolerance) {
  uint64_t changed = 0;
  const bool same = ForEachPair(now, previous, [&](double x, double before) {
    changed += IsClose(x, before, tolerance) ? 0 : 1;
  });
  if (!same) return std::nullopt;
  return changed;
}

}  // namespace graphdbg::reference
