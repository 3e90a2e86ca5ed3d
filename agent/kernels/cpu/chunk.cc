#include "agent/kernels/cpu/chunk.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "agent/kernels/reference/reference.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "agent/kernels/cpu/chunk.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After foreach_target.h.
#include "agent/kernels/cpu/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace graphdbg::cpu {
namespace HWY_NAMESPACE {

// Sums of lanes in float64. Initialized by a function because implicit
// constructors are not compiled for Highway's target.
struct Sums64 {
  V64 sum, square_sum, abs_sum;

  HWY_INLINE void Clear() { sum = square_sum = abs_sum = hn::Zero(F64()); }

  HWY_INLINE void Add(V64 x) {
    sum = hn::Add(sum, x);
    square_sum = hn::MulAdd(x, x, square_sum);
    abs_sum = hn::Add(abs_sum, hn::Abs(x));
  }

  HWY_INLINE void Add(V64 x, V64 for_abs, V64 shift) {
    const V64 distance = hn::Sub(x, shift);
    sum = hn::Add(sum, distance);
    square_sum = hn::MulAdd(distance, distance, square_sum);
    abs_sum = hn::Add(abs_sum, hn::Abs(for_abs));
  }
};

struct SumsOf64 {
  Sums64 all;
  HWY_INLINE void Clear() { all.Clear(); }
  HWY_INLINE void Add(const double* p) { all.Add(hn::LoadU(F64(), p)); }
  HWY_INLINE void Add(V64 x, V64 for_abs, V64 shift) {
    all.Add(x, for_abs, shift);
  }
  HWY_INLINE void Reduce(ChunkSums* out) const {
    out->sum = hn::GetLane(hn::SumOfLanes(F64(), all.sum));
    out->square_sum = hn::GetLane(hn::SumOfLanes(F64(), all.square_sum));
    out->abs_sum = hn::GetLane(hn::SumOfLanes(F64(), all.abs_sum));
  }
};

struct SumsOf32 {
  Sums64 low, high;
  HWY_INLINE void Clear() {
    low.Clear();
    high.Clear();
  }
  // Converts while loading, which avoids extracting the upper half.
  HWY_INLINE void Add(const float* p) {
    const hn::Rebind<float, F64> half;
    low.Add(hn::PromoteTo(F64(), hn::LoadU(half, p)));
#if HWY_TARGET != HWY_SCALAR
    high.Add(hn::PromoteTo(F64(), hn::LoadU(half, p + hn::Lanes(half))));
#endif
  }
  HWY_INLINE void Add(V32 x, V32 for_abs, V64 shift) {
    const F64 d;
#if HWY_TARGET == HWY_SCALAR
    // A single lane has no upper half.
    low.Add(hn::PromoteTo(d, x), hn::PromoteTo(d, for_abs), shift);
#else
    const hn::Half<F32> half;
    low.Add(hn::PromoteTo(d, hn::LowerHalf(half, x)),
            hn::PromoteTo(d, hn::LowerHalf(half, for_abs)), shift);
    high.Add(hn::PromoteTo(d, hn::UpperHalf(half, x)),
             hn::PromoteTo(d, hn::UpperHalf(half, for_abs)), shift);
#endif
  }
  HWY_INLINE void Reduce(ChunkSums* out) const {
    const auto total = [](V64 a, V64 b) HWY_ATTR {
      return hn::GetLane(hn::SumOfLanes(F64(), hn::Add(a, b)));
    };
    out->sum = total(low.sum, high.sum);
    out->square_sum = total(low.square_sum, high.square_sum);
    out->abs_sum = total(low.abs_sum, high.abs_sum);
  }
};

template <class D>
struct SumsFor;
template <>
struct SumsFor<F64> {
  using Type = SumsOf64;
};
template <>
struct SumsFor<F32> {
  using Type = SumsOf32;
};

// Counts per lane how often a mask is true.
template <class D>
struct Tally {
  using DI = hn::RebindToSigned<D>;
  hn::Vec<DI> counts;

  HWY_INLINE void Clear() { counts = hn::Zero(DI()); }
  HWY_INLINE void Add(hn::Mask<D> mask) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    // Compiles to one masked addition.
    const auto more = hn::Add(counts, hn::Set(DI(), 1));
    counts = hn::IfThenElse(hn::RebindMask(DI(), mask), more, counts);
#else
    // A true lane is -1.
    const auto minus = hn::VecFromMask(DI(), hn::RebindMask(DI(), mask));
    counts = hn::Sub(counts, minus);
#endif
  }
  HWY_INLINE uint64_t Total() const {
    return static_cast<uint64_t>(hn::GetLane(hn::SumOfLanes(DI(), counts)));
  }
};

// For elements that are all finite; otherwise the sums are not finite.
// Prefetches memory `ahead` bytes before it is read.
template <class Load>
HWY_INLINE void FinitePass(const typename Load::Element* p, size_t n,
                           size_t ahead, ChunkSums* out) {
  const typename Load::D d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  const V zero = hn::Zero(d);
  V min = Load::Load(p), max = min;
  Tally<decltype(d)> zeros, negatives;
  zeros.Clear();
  negatives.Clear();
  typename SumsFor<typename Load::D>::Type sums;
  sums.Clear();
  for (size_t i = 0; i < n; i += lanes) {
    hwy::Prefetch(reinterpret_cast<const char*>(p + i) + ahead);
    const V v = Load::Load(p + i);
    zeros.Add(hn::Eq(v, zero));
    negatives.Add(hn::Lt(v, zero));
    min = hn::Min(min, v);
    max = hn::Max(max, v);
    sums.Add(p + i);
  }
  sums.Reduce(out);
  out->count = out->finite_count = n;
  out->zero_count = zeros.Total();
  out->negative_count = negatives.Total();
  out->min = static_cast<double>(hn::GetLane(hn::MinOfLanes(d, min)));
  out->max = static_cast<double>(hn::GetLane(hn::MaxOfLanes(d, max)));
}

// Sums distances from `shift`, which avoids cancellation. With kMasked, counts
// non-finite elements and excludes them from the sums.
template <class Load, bool kMasked>
HWY_INLINE void CarefulPass(const typename Load::Element* p, size_t n,
                            double shift, ChunkSums* out) {
  using Lane = hn::TFromD<typename Load::D>;
  const typename Load::D d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  const V shift_lanes = hn::Set(d, static_cast<Lane>(shift));
  const V64 shift64 = hn::Set(F64(), shift);
  const V zero = hn::Zero(d);
  const V infinity = hn::Set(d, std::numeric_limits<Lane>::infinity());
  V min = shift_lanes, max = shift_lanes;
  Tally<decltype(d)> zeros, negatives, finites, nans, pos_infs;
  for (auto* tally : {&zeros, &negatives, &finites, &nans, &pos_infs}) {
    tally->Clear();
  }
  typename SumsFor<typename Load::D>::Type sums;
  sums.Clear();
  for (size_t i = 0; i < n; i += lanes) {
    V v = Load::Load(p + i);
    V for_abs = v;
    auto is_zero = hn::Eq(v, zero);
    auto is_negative = hn::Lt(v, zero);
    if constexpr (kMasked) {
      const auto finite = hn::IsFinite(v);
      finites.Add(finite);
      nans.Add(hn::IsNaN(v));
      pos_infs.Add(hn::Eq(v, infinity));
      is_negative = hn::And(is_negative, finite);
      for_abs = hn::IfThenElseZero(finite, v);
      // The replacement adds nothing to the sums and is not a new extreme.
      v = hn::IfThenElse(finite, v, shift_lanes);
    }
    zeros.Add(is_zero);
    negatives.Add(is_negative);
    min = hn::Min(min, v);
    max = hn::Max(max, v);
    sums.Add(v, for_abs, shift64);
  }
  out->count = n;
  out->finite_count = kMasked ? finites.Total() : n;
  out->nan_count = nans.Total();
  out->pos_inf_count = pos_infs.Total();
  out->zero_count = zeros.Total();
  out->negative_count = negatives.Total();
  out->shift = shift;
  sums.Reduce(out);
  if (out->finite_count == 0) return;
  out->min = static_cast<double>(hn::GetLane(hn::MinOfLanes(d, min)));
  out->max = static_cast<double>(hn::GetLane(hn::MaxOfLanes(d, max)));
}

// Returns the first finite element, or 0. n is a multiple of the number of
// lanes.
template <class Load>
double FindShift(const typename Load::Element* p, size_t n) {
  const typename Load::D d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto v = Load::Load(p + i);
    const intptr_t lane = hn::FindFirstTrue(d, hn::IsFinite(v));
    if (lane >= 0) return static_cast<double>(hn::ExtractLane(v, lane));
  }
  return 0;
}

// The chunk's mean, rounded to the type of the lanes.
template <class Load>
double MeanOf(const ChunkSums& sums) {
  const double n = static_cast<double>(sums.finite_count);
  const double mean = std::clamp(sums.shift + sums.sum / n, sums.min, sums.max);
  return static_cast<double>(static_cast<typename Load::Element>(mean));
}

// n is a multiple of the number of lanes. Needs only one pass if all elements
// are finite and the mean is not far from zero.
template <class Load>
void Whole(const typename Load::Element* p, size_t n, size_t ahead,
           ChunkSums* out) {
  FinitePass<Load>(p, n, ahead, out);
  const bool masked = out->overflowed();
  if (masked) {
    *out = ChunkSums();
    CarefulPass<Load, true>(p, n, FindShift<Load>(p, n), out);
  }
  if (!out->cancels() || out->overflowed()) return;
  const double mean = MeanOf<Load>(*out);
  *out = ChunkSums();
  if (masked) {
    CarefulPass<Load, true>(p, n, mean, out);
  } else {
    CarefulPass<Load, false>(p, n, mean, out);
  }
}

// Removes `extra` copies of the element x from the sums.
void RemovePadding(double x, uint64_t extra, ChunkSums* sums) {
  sums->count -= extra;
  if (!std::isfinite(x)) {
    (std::isnan(x) ? sums->nan_count : sums->pos_inf_count) -=
        std::isnan(x) || x > 0 ? extra : 0;
    return;
  }
  const double times = static_cast<double>(extra);
  const double distance = x - sums->shift;
  sums->finite_count -= extra;
  sums->sum -= distance * times;
  sums->square_sum -= distance * distance * times;
  sums->abs_sum -= std::fabs(x) * times;
  sums->zero_count -= x == 0 ? extra : 0;
  sums->negative_count -= x < 0 ? extra : 0;
}

// Pads the chunk to whole vectors with copies of its last element.
template <class Load>
void Floats(const void* elements, size_t n, size_t ahead, ChunkSums* out) {
  using Element = typename Load::Element;
  const auto* p = static_cast<const Element*>(elements);
  const size_t lanes = hn::Lanes(typename Load::D());
  const size_t filled = (n + lanes - 1) / lanes * lanes;
  if (filled == n) return Whole<Load>(p, n, ahead, out);
  HWY_ALIGN Element padded[kChunkElements];
  std::memcpy(padded, p, n * sizeof(Element));
  std::fill(padded + n, padded + filled, padded[n - 1]);
  Whole<Load>(padded, filled, 0, out);
  RemovePadding(static_cast<double>(padded[n - 1]), filled - n, out);
}

// Widens the elements once, to a buffer that fits the cache, instead of in
// registers in each pass.
template <class Load>
void HalfFloats(const void* elements, size_t n, size_t ahead, ChunkSums* out) {
  HWY_ALIGN float values[kChunkElements];
  HWY_ALIGN uint16_t last[hn::MaxLanes(F32())] = {};
  const auto* p = static_cast<const uint16_t*>(elements);
  const size_t lanes = hn::Lanes(F32());
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hwy::Prefetch(reinterpret_cast<const char*>(p + i) + ahead);
    hn::Store(Load::Load(p + i), F32(), values + i);
  }
  if (i < n) {
    std::memcpy(last, p + i, (n - i) * sizeof(*p));
    hn::Store(Load::Load(last), F32(), values + i);
  }
  Floats<LoadFloat32>(values, n, 0, out);
}

template <class T, bool kBool = false>
void IntegerChunk(const void* elements, size_t n, size_t, ChunkSums* out) {
  HWY_ALIGN double values[kChunkElements];
  const char* p = static_cast<const char*>(elements);
  for (size_t i = 0; i < n; ++i) {
    T x;
    std::memcpy(&x, p + i * sizeof(T), sizeof(T));
    values[i] = kBool ? static_cast<double>(x != 0) : static_cast<double>(x);
  }
  Floats<LoadFloat64>(values, n, 0, out);
}

ChunkFunction Choose(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return IntegerChunk<uint8_t, true>;
    case DType::kInt8:
      return IntegerChunk<int8_t>;
    case DType::kInt16:
      return IntegerChunk<int16_t>;
    case DType::kInt32:
      return IntegerChunk<int32_t>;
    case DType::kInt64:
      return IntegerChunk<int64_t>;
    case DType::kUint8:
      return IntegerChunk<uint8_t>;
    case DType::kUint16:
      return IntegerChunk<uint16_t>;
    case DType::kUint32:
      return IntegerChunk<uint32_t>;
    case DType::kUint64:
      return IntegerChunk<uint64_t>;
    case DType::kFloat16:
      return HalfFloats<LoadFloat16>;
    case DType::kBfloat16:
      return HalfFloats<LoadBfloat16>;
    case DType::kFloat32:
      return Floats<LoadFloat32>;
    case DType::kFloat64:
      return Floats<LoadFloat64>;
    default:
      return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace graphdbg::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphdbg::cpu {

HWY_EXPORT(Choose);

ChunkFunction ChunkFunctionFor(DType dtype) {
  return HWY_DYNAMIC_DISPATCH(Choose)(dtype);
}

double ElementAsDouble(DType dtype, const void* p) {
  return static_cast<double>(reference::ElementValue(dtype, p));
}

}  // namespace graphdbg::cpu
#endif  // HWY_ONCE
