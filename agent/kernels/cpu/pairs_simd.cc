#include "agent/kernels/cpu/pairs_simd.h"

#include <cmath>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "agent/kernels/cpu/pairs_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After foreach_target.h.
#include "agent/kernels/cpu/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace graphdbg::cpu {
namespace HWY_NAMESPACE {

// Calls visit(now, previous, number of valid lanes) with the elements of a
// vector as float64.
template <class Visit>
HWY_INLINE void InHalves(V64 now, V64 previous, size_t n, const Visit& visit) {
  visit(now, previous, n);
}

template <class Visit>
HWY_INLINE void InHalves(V32 now, V32 previous, size_t n, const Visit& visit) {
  const F64 d;
#if HWY_TARGET == HWY_SCALAR
  visit(hn::PromoteTo(d, now), hn::PromoteTo(d, previous), n);
#else
  const hn::Half<F32> half;
  const size_t lanes = hn::Lanes(d);
  visit(hn::PromoteTo(d, hn::LowerHalf(half, now)),
        hn::PromoteTo(d, hn::LowerHalf(half, previous)), HWY_MIN(n, lanes));
  if (n <= lanes) return;
  visit(hn::PromoteTo(d, hn::UpperHalf(half, now)),
        hn::PromoteTo(d, hn::UpperHalf(half, previous)), n - lanes);
#endif
}

// Calls visit(now, previous, n) with all pairs as float64 lanes. The last
// vector may be partial and is padded with zeros.
template <class Load, class Visit>
HWY_INLINE void ForEachPair(const void* now, const void* previous, size_t n,
                            const Visit& visit) {
  using Element = typename Load::Element;
  const typename Load::D d;
  const size_t lanes = hn::Lanes(d);
  const auto* a = static_cast<const Element*>(now);
  const auto* b = static_cast<const Element*>(previous);
  for (; n >= lanes; n -= lanes, a += lanes, b += lanes) {
    InHalves(Load::Load(a), Load::Load(b), lanes, visit);
  }
  if (n == 0) return;
  HWY_ALIGN Element last_a[hn::MaxLanes(typename Load::D())] = {};
  HWY_ALIGN Element last_b[hn::MaxLanes(typename Load::D())] = {};
  std::memcpy(last_a, a, n * sizeof(Element));
  std::memcpy(last_b, b, n * sizeof(Element));
  InHalves(Load::Load(last_a), Load::Load(last_b), n, visit);
}

template <class Load>
PairSums SumPairsAs(const void* now, const void* previous, size_t n) {
  const F64 d;
  V64 change = hn::Zero(d), squares = change, max = change, old = change,
      old_squares = change;
  ForEachPair<Load>(now, previous, n, [&](V64 x, V64 before, size_t) HWY_ATTR {
    const V64 distance = hn::Abs(hn::Sub(x, before));
    change = hn::Add(change, distance);
    squares = hn::MulAdd(distance, distance, squares);
    max = hn::Max(max, distance);
    old = hn::Add(old, hn::Abs(before));
    old_squares = hn::MulAdd(before, before, old_squares);
  });
  PairSums sums;
  sums.change = hn::GetLane(hn::SumOfLanes(d, change));
  sums.change_squares = hn::GetLane(hn::SumOfLanes(d, squares));
  sums.change_max = hn::GetLane(hn::MaxOfLanes(d, max));
  sums.previous = hn::GetLane(hn::SumOfLanes(d, old));
  sums.previous_squares = hn::GetLane(hn::SumOfLanes(d, old_squares));
  return sums;
}

template <class Load>
uint64_t CountCloseAs(const void* now, const void* previous, size_t n,
                      const Tolerance& tolerance, bool* finite) {
  const F64 d;
  const V64 rtol = hn::Set(d, tolerance.rtol);
  const V64 atol = hn::Set(d, tolerance.atol);
  const V64 zero = hn::Zero(d);
  V64 poison = zero;
  uint64_t close = 0;
  ForEachPair<Load>(
      now, previous, n, [&](V64 x, V64 before, size_t valid) HWY_ATTR {
        const V64 distance = hn::Abs(hn::Sub(x, before));
        const V64 limit = hn::MulAdd(rtol, hn::Abs(before), atol);
        // 0 * x is NaN if x is not finite.
        poison = hn::MulAdd(zero, x, hn::MulAdd(zero, before, poison));
        const auto is_close =
            hn::And(hn::Le(distance, limit), hn::FirstN(d, valid));
        close += hn::CountTrue(d, is_close);
      });
  *finite = hn::GetLane(hn::SumOfLanes(d, poison)) == 0;
  return close;
}

// The least number of the type that is not below x.
template <class Lane>
Lane RoundedUp(double x) {
  using Limits = std::numeric_limits<Lane>;
  if (x > static_cast<double>(Limits::max())) return Limits::infinity();
  if (x < static_cast<double>(Limits::lowest())) {
    return std::isinf(x) ? -Limits::infinity() : Limits::lowest();
  }
  const auto nearest = static_cast<Lane>(x);
  return static_cast<double>(nearest) >= x
             ? nearest
             : std::nextafter(nearest, Limits::infinity());
}

// The greatest that is not above x.
template <class Lane>
Lane RoundedDown(double x) {
  return -RoundedUp<Lane>(-x);
}

template <class Load>
uint64_t CountWithinAs(const void* elements, size_t n, double start,
                       double end) {
  using Element = typename Load::Element;
  const typename Load::D d;
  using Lane = hn::TFromD<typename Load::D>;
  const auto lowest = hn::Set(d, RoundedUp<Lane>(start));
  const auto highest = hn::Set(d, RoundedDown<Lane>(end));
  const auto is_within = [&](const Element* at) HWY_ATTR {
    const auto x = Load::Load(at);
    return hn::And(hn::Ge(x, lowest), hn::Le(x, highest));
  };
  const size_t lanes = hn::Lanes(d);
  const auto* p = static_cast<const Element*>(elements);
  uint64_t within = 0;
  for (; n >= lanes; n -= lanes, p += lanes) {
    within += hn::CountTrue(d, is_within(p));
  }
  if (n == 0) return within;
  HWY_ALIGN Element last[hn::MaxLanes(typename Load::D())] = {};
  std::memcpy(last, p, n * sizeof(Element));
  return within + hn::CountTrue(d, hn::And(is_within(last), hn::FirstN(d, n)));
}

PairSums Sum(DType dtype, const void* now, const void* previous, size_t n) {
  switch (dtype) {
    case DType::kFloat16:
      return SumPairsAs<LoadFloat16>(now, previous, n);
    case DType::kBfloat16:
      return SumPairsAs<LoadBfloat16>(now, previous, n);
    case DType::kFloat32:
      return SumPairsAs<LoadFloat32>(now, previous, n);
    default:
      return SumPairsAs<LoadFloat64>(now, previous, n);
  }
}

uint64_t Close(DType dtype, const void* now, const void* previous, size_t n,
               const Tolerance& tolerance, bool* finite) {
  switch (dtype) {
    case DType::kFloat16:
      return CountCloseAs<LoadFloat16>(now, previous, n, tolerance, finite);
    case DType::kBfloat16:
      return CountCloseAs<LoadBfloat16>(now, previous, n, tolerance, finite);
    case DType::kFloat32:
      return CountCloseAs<LoadFloat32>(now, previous, n, tolerance, finite);
    default:
      return CountCloseAs<LoadFloat64>(now, previous, n, tolerance, finite);
  }
}

uint64_t Within(DType dtype, const void* elements, size_t n, double start,
                double end) {
  switch (dtype) {
    case DType::kFloat16:
      return CountWithinAs<LoadFloat16>(elements, n, start, end);
    case DType::kBfloat16:
      return CountWithinAs<LoadBfloat16>(elements, n, start, end);
    case DType::kFloat32:
      return CountWithinAs<LoadFloat32>(elements, n, start, end);
    default:
      return CountWithinAs<LoadFloat64>(elements, n, start, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace graphdbg::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphdbg::cpu {

HWY_EXPORT(Sum);
HWY_EXPORT(Close);
HWY_EXPORT(Within);

PairSums SumPairs(DType dtype, const void* now, const void* previous,
                  size_t n) {
  return HWY_DYNAMIC_DISPATCH(Sum)(dtype, now, previous, n);
}

uint64_t CountClose(DType dtype, const void* now, const void* previous,
                    size_t n, const Tolerance& tolerance, bool* finite) {
  return HWY_DYNAMIC_DISPATCH(Close)(dtype, now, previous, n, tolerance,
                                     finite);
}

uint64_t CountWithin(DType dtype, const void* elements, size_t n, double start,
                     double end) {
  return HWY_DYNAMIC_DISPATCH(Within)(dtype, elements, n, start, end);
}

}  // namespace graphdbg::cpu
#endif  // HWY_ONCE
