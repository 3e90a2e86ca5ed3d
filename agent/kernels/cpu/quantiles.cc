#include "agent/kernels/cpu/quantiles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "agent/kernels/cpu/chunk.h"
#include "agent/kernels/cpu/scan.h"

namespace graphdbg::cpu {
namespace {

template <class To, class From>
To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "");
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

// Orders floating-point numbers, given as their bits, like integers.
template <class Bits>
Bits Ordered(Bits bits, Bits sign) {
  return static_cast<Bits>(bits ^ ((bits & sign) != 0 ? 2 * sign - 1 : sign));
}
template <class Bits>
Bits Unordered(Bits ordered, Bits sign) {
  return static_cast<Bits>(ordered ^
                           ((ordered & sign) != 0 ? sign : 2 * sign - 1));
}

// Each of the following describes the buckets for a type of element. Buckets
// ascend; those of NaN and infinities are not between first() and last().

struct Float32Buckets {
  using Element = uint32_t;
  static constexpr size_t kSize = 1 << 16;
  static constexpr uint32_t kSign = 1 << 15;
  static size_t Of(uint32_t bits) { return Ordered(bits >> 16, kSign); }
  static double Value(size_t bucket) {
    const uint32_t top = Unordered(static_cast<uint32_t>(bucket), kSign);
    return BitCast<float>(top << 16);
  }
  static size_t first() { return Of(0xFF7FFFFF); }
  static size_t last() { return Of(0x7F7FFFFF); }
};

// 64-bit floating-point numbers, and wide integers, which are converted to
// those.
template <class T>
struct Float64Buckets {
  using Element = T;
  static constexpr size_t kSize = 1 << 19;
  static constexpr uint32_t kSign = 1 << 18;
  static size_t Of(T x) {
    const auto bits = BitCast<uint64_t>(static_cast<double>(x));
    return Ordered(static_cast<uint32_t>(bits >> 45), kSign);
  }
  static double Value(size_t bucket) {
    const uint64_t top = Unordered(static_cast<uint32_t>(bucket), kSign);
    return BitCast<double>(top << 45);
  }
  static size_t first() { return Of64(-1.7976931348623157e308); }
  static size_t last() { return Of64(1.7976931348623157e308); }

 private:
  static size_t Of64(double x) { return Float64Buckets<double>::Of(x); }
};

// Floating-point numbers of 16 bits, a bucket for each. `kLargest` has the bits
// of the largest finite one.
template <DType kType, uint16_t kLargest>
struct HalfBuckets {
  using Element = uint16_t;
  static constexpr size_t kSize = 1 << 16;
  static constexpr uint16_t kSign = 1 << 15;
  static size_t Of(uint16_t bits) { return Ordered(bits, kSign); }
  static double Value(size_t bucket) {
    const uint16_t bits = Unordered(static_cast<uint16_t>(bucket), kSign);
    return ElementAsDouble(kType, &bits);
  }
  static size_t first() { return Of(kSign | kLargest); }
  static size_t last() { return Of(kLargest); }
};

// Integers of up to 16 bits, and booleans, a bucket for each.
template <class T, bool kBool = false>
struct IntegerBuckets {
  using Element = T;
  static constexpr size_t kSize = size_t{1} << (8 * sizeof(T));
  static constexpr int kLowest = std::is_signed<T>::value ? kSize / 2 : 0;
  static size_t Of(T x) {
    return kBool ? (x != 0 ? 1 : 0) : static_cast<size_t>(x + kLowest);
  }
  static double Value(size_t bucket) {
    return static_cast<double>(static_cast<int>(bucket) - kLowest);
  }
  static size_t first() { return 0; }
  static size_t last() { return kSize - 1; }
};

// The position, from 0, of a quantile among n elements in ascending order.
uint64_t PositionOf(int percent, uint64_t n) {
  const auto share = static_cast<uint64_t>(percent);
  const uint64_t count = n / 100 * share + (n % 100 * share + 99) / 100;
  return std::max<uint64_t>(count, 1) - 1;
}

template <class Buckets>
bool FromHistogram(const TensorView& view, Quantiles* quantiles) {
  using Element = typename Buckets::Element;
  std::vector<uint64_t> counts(Buckets::kSize);
  uint64_t* const data = counts.data();
  const auto scanned = Scan(view, [data](const char* p, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      Element element;
      std::memcpy(&element, p + i * sizeof(Element), sizeof(Element));
      ++data[Buckets::Of(element)];
    }
    return true;
  });
  if (!scanned) return false;
  uint64_t total = 0;
  for (size_t b = Buckets::first(); b <= Buckets::last(); ++b) total += data[b];
  if (total == 0) return false;
  size_t bucket = Buckets::first();
  uint64_t through = data[bucket];
  for (size_t i = 0; i < Quantiles::kPercents.size(); ++i) {
    const uint64_t position = PositionOf(Quantiles::kPercents[i], total);
    while (through <= position) through += data[++bucket];
    quantiles->values[i] = Buckets::Value(bucket);
  }
  return true;
}

bool FromHistogram(const TensorView& view, Quantiles* quantiles) {
  switch (view.dtype) {
    case DType::kBool:
      return FromHistogram<IntegerBuckets<uint8_t, true>>(view, quantiles);
    case DType::kInt8:
      return FromHistogram<IntegerBuckets<int8_t>>(view, quantiles);
    case DType::kUint8:
      return FromHistogram<IntegerBuckets<uint8_t>>(view, quantiles);
    case DType::kInt16:
      return FromHistogram<IntegerBuckets<int16_t>>(view, quantiles);
    case DType::kUint16:
      return FromHistogram<IntegerBuckets<uint16_t>>(view, quantiles);
    case DType::kInt32:
      return FromHistogram<Float64Buckets<int32_t>>(view, quantiles);
    case DType::kUint32:
      return FromHistogram<Float64Buckets<uint32_t>>(view, quantiles);
    case DType::kInt64:
      return FromHistogram<Float64Buckets<int64_t>>(view, quantiles);
    case DType::kUint64:
      return FromHistogram<Float64Buckets<uint64_t>>(view, quantiles);
    case DType::kFloat16:
      return FromHistogram<HalfBuckets<DType::kFloat16, 0x7BFF>>(view,
                                                                 quantiles);
    case DType::kBfloat16:
      return FromHistogram<HalfBuckets<DType::kBfloat16, 0x7F7F>>(view,
                                                                  quantiles);
    case DType::kFloat32:
      return FromHistogram<Float32Buckets>(view, quantiles);
    case DType::kFloat64:
      return FromHistogram<Float64Buckets<double>>(view, quantiles);
    default:
      return false;
  }
}

// For tensors with at most kExactQuantileElements distinct places in memory.
bool FromElements(const TensorView& view, Quantiles* quantiles) {
  std::array<double, kExactQuantileElements> elements;
  size_t count = 0;
  const size_t item_size = ItemSize(view.dtype);
  const auto scanned = Scan(view, [&](const char* p, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      const double x = ElementAsDouble(view.dtype, p + i * item_size);
      if (std::isfinite(x)) elements[count++] = x;
    }
    return true;
  });
  if (!scanned || count == 0) return false;
  double* from = elements.data();
  double* const end = from + count;
  for (size_t i = 0; i < Quantiles::kPercents.size(); ++i) {
    double* const at =
        elements.data() + PositionOf(Quantiles::kPercents[i], count);
    std::nth_element(from, at, end);
    quantiles->values[i] = *at;
    from = at;
  }
  return true;
}

}  // namespace

bool ComputeQuantiles(const TensorView& view, double min, double max,
                      Quantiles* quantiles) {
  if (!HasStatistics(view.dtype)) return false;
  const auto count = view.element_count();
  if (!count) return false;
  if (static_cast<uint64_t>(*count) <= kExactQuantileElements) {
    return FromElements(view, quantiles);
  }
  if (!FromHistogram(view, quantiles)) return false;
  for (double& value : quantiles->values) {
    value = std::clamp(value, min, max);
  }
  return true;
}

}  // namespace graphdbg::cpu
