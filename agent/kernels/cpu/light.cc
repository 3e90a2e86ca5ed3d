#include "agent/kernels/cpu/light.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "agent/kernels/cpu/light.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After foreach_target.h.
#include "agent/kernels/cpu/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace graphdbg::cpu {
namespace HWY_NAMESPACE {

// Calls quad(p) for each four vectors' worth of elements and one(p) for each
// one of the rest; the last is filled up with zeros.
template <class D, class Element, class Quad, class One>
HWY_INLINE void InFours(D d, const Element* p, size_t n, const Quad& quad,
                        const One& one) {
  const size_t lanes = hn::Lanes(d);
  for (; n >= 4 * lanes; n -= 4 * lanes, p += 4 * lanes) quad(p);
  for (; n >= lanes; n -= lanes, p += lanes) one(p);
  if (n == 0) return;
  HWY_ALIGN Element last[hn::MaxLanes(D())] = {};
  std::memcpy(last, p, n * sizeof(Element));
  one(last);
}

// 0 * x is 0 if x is finite, and NaN otherwise.
template <class T>
bool IsFiniteWide(const void* elements, size_t n) {
  const hn::ScalableTag<T> d;
  const auto zero = hn::Zero(d);
  auto a0 = zero, a1 = zero, a2 = zero, a3 = zero;
  const size_t lanes = hn::Lanes(d);
  InFours(
      d, static_cast<const T*>(elements), n,
      [&](const T* p) HWY_ATTR {
        a0 = hn::MulAdd(zero, hn::LoadU(d, p), a0);
        a1 = hn::MulAdd(zero, hn::LoadU(d, p + lanes), a1);
        a2 = hn::MulAdd(zero, hn::LoadU(d, p + 2 * lanes), a2);
        a3 = hn::MulAdd(zero, hn::LoadU(d, p + 3 * lanes), a3);
      },
      [&](const T* p) HWY_ATTR { a0 = hn::MulAdd(zero, hn::LoadU(d, p), a0); });
  const auto all = hn::Add(hn::Add(a0, a1), hn::Add(a2, a3));
  return hn::GetLane(hn::SumOfLanes(d, all)) == 0;
}

// Without their signs, numbers that are not finite are the largest.
template <uint16_t kInfinity>
bool IsFiniteHalf(const void* elements, size_t n) {
  const hn::ScalableTag<uint16_t> d;
  const auto unsign = hn::Set(d, 0x7FFF);
  auto a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0;
  const size_t lanes = hn::Lanes(d);
  InFours(
      d, static_cast<const uint16_t*>(elements), n,
      [&](const uint16_t* p) HWY_ATTR {
        a0 = hn::Max(a0, hn::And(unsign, hn::LoadU(d, p)));
        a1 = hn::Max(a1, hn::And(unsign, hn::LoadU(d, p + lanes)));
        a2 = hn::Max(a2, hn::And(unsign, hn::LoadU(d, p + 2 * lanes)));
        a3 = hn::Max(a3, hn::And(unsign, hn::LoadU(d, p + 3 * lanes)));
      },
      [&](const uint16_t* p)
          HWY_ATTR { a0 = hn::Max(a0, hn::And(unsign, hn::LoadU(d, p))); });
  const auto all = hn::Max(hn::Max(a0, a1), hn::Max(a2, a3));
  return hn::AllTrue(d, hn::Lt(all, hn::Set(d, kInfinity)));
}

// Two chains of each operation keep both pipes busy.
template <class Load>
class SketchPass {
 public:
  using D = typename Load::D;
  using V = hn::Vec<D>;
  using Element = typename Load::Element;

  HWY_INLINE void Run(const Element* p, size_t n, SketchSums* out) {
    const D d;
    const size_t lanes = hn::Lanes(d);
    sum_.Clear();
    square_sum_.Clear();
    min0_ = min1_ = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
    max0_ = max1_ = hn::Neg(min0_);
    while (n >= 2 * lanes) {
      const size_t pairs = std::min(n / (2 * lanes), kSketchBlock);
      Block(p, pairs);
      p += pairs * 2 * lanes;
      n -= pairs * 2 * lanes;
    }
    if (n >= lanes) {
      One(Load::Load(p));
      p += lanes;
      n -= lanes;
    }
    if (n > 0) Last(p, n);
    Finish(out);
  }

 private:
  HWY_INLINE void Block(const Element* p, size_t pairs) {
    const size_t lanes = hn::Lanes(D());
    V s0 = hn::Zero(D()), s1 = s0, q0 = s0, q1 = s0;
    V min0 = min0_, min1 = min1_, max0 = max0_, max1 = max1_;
    for (size_t i = 0; i < pairs; ++i, p += 2 * lanes) {
      const V a = Load::Load(p), b = Load::Load(p + lanes);
      s0 = hn::Add(s0, a);
      s1 = hn::Add(s1, b);
      q0 = hn::MulAdd(a, a, q0);
      q1 = hn::MulAdd(b, b, q1);
      min0 = hn::Min(min0, a);
      min1 = hn::Min(min1, b);
      max0 = hn::Max(max0, a);
      max1 = hn::Max(max1, b);
    }
    min0_ = min0;
    min1_ = min1;
    max0_ = max0;
    max1_ = max1;
    sum_.Add(s0);
    sum_.Add(s1);
    square_sum_.Add(q0);
    square_sum_.Add(q1);
  }

  HWY_INLINE void One(V v) {
    min0_ = hn::Min(min0_, v);
    max0_ = hn::Max(max0_, v);
    sum_.Add(v);
    square_sum_.Add(hn::Mul(v, v));
  }

  // Filled up with the last element for minimum and maximum, with zeros for
  // sums.
  HWY_INLINE void Last(const Element* p, size_t n) {
    const D d;
    HWY_ALIGN Element last[hn::MaxLanes(D())];
    std::memcpy(last, p, n * sizeof(Element));
    std::fill(last + n, last + hn::Lanes(d), p[n - 1]);
    const V v = Load::Load(last);
    min1_ = hn::Min(min1_, v);
    max1_ = hn::Max(max1_, v);
    const V some = hn::IfThenElseZero(hn::FirstN(d, n), v);
    sum_.Add(some);
    square_sum_.Add(hn::Mul(some, some));
  }

  HWY_INLINE void Finish(SketchSums* out) const {
    const D d;
    const double min = hn::GetLane(hn::MinOfLanes(d, hn::Min(min0_, min1_)));
    const double max = hn::GetLane(hn::MaxOfLanes(d, hn::Max(max0_, max1_)));
    out->min = std::min(out->min, min);
    out->max = std::max(out->max, max);
    out->sum += sum_.Sum();
    out->square_sum += square_sum_.Sum();
  }

  Total64 sum_, square_sum_;
  V min0_, min1_, max0_, max1_;
};

template <class Load>
HWY_INLINE void SketchAs(const void* elements, size_t n, SketchSums* sums) {
  SketchPass<Load> pass;
  pass.Run(static_cast<const typename Load::Element*>(elements), n, sums);
}

bool IsFinite(DType dtype, const void* elements, size_t n) {
  switch (dtype) {
    case DType::kFloat16:
      return IsFiniteHalf<0x7C00>(elements, n);
    case DType::kBfloat16:
      return IsFiniteHalf<0x7F80>(elements, n);
    case DType::kFloat32:
      return IsFiniteWide<float>(elements, n);
    case DType::kFloat64:
      return IsFiniteWide<double>(elements, n);
    default:
      return true;
  }
}

void AddSketch(DType dtype, const void* elements, size_t n, SketchSums* sums) {
  switch (dtype) {
    case DType::kFloat16:
      return SketchAs<LoadFloat16>(elements, n, sums);
    case DType::kBfloat16:
      return SketchAs<LoadBfloat16>(elements, n, sums);
    case DType::kFloat32:
      return SketchAs<LoadFloat32>(elements, n, sums);
    case DType::kFloat64:
      return SketchAs<LoadFloat64>(elements, n, sums);
    default:
      return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace graphdbg::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphdbg::cpu {

HWY_EXPORT(IsFinite);
HWY_EXPORT(AddSketch);

bool RunIsFinite(DType dtype, const void* elements, size_t n) {
  return HWY_DYNAMIC_DISPATCH(IsFinite)(dtype, elements, n);
}

void SketchRun(DType dtype, const void* elements, size_t n, SketchSums* sums) {
  HWY_DYNAMIC_DISPATCH(AddSketch)(dtype, elements, n, sums);
}

}  // namespace graphdbg::cpu
#endif  // HWY_ONCE
