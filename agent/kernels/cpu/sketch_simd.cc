#include "agent/kernels/cpu/sketch_simd.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "agent/kernels/cpu/scan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "agent/kernels/cpu/sketch_simd.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After foreach_target.h.
#include "agent/kernels/cpu/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace graphdbg::cpu {
namespace HWY_NAMESPACE {

// Calls quad(p) for each group of four vectors and one(p) for each of the
// remaining vectors. The last vector overlaps the previous one, or is padded
// with zeros if there is none.
template <class D, class Element, class Quad, class One>
HWY_INLINE void ForEachVector(D d, const Element* p, size_t n, const Quad& quad,
                              const One& one) {
  const size_t lanes = hn::Lanes(d);
  const bool enough = n >= lanes;
  for (; n >= 4 * lanes; n -= 4 * lanes, p += 4 * lanes) quad(p);
  for (; n >= lanes; n -= lanes, p += lanes) one(p);
  if (n == 0) return;
  if (enough) return one(p + n - lanes);
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
  ForEachVector(
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
  ForEachVector(
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

// Independent chains of operations hide latency; the number of registers limits
// them.
constexpr size_t kChainPairs = HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86 ? 2 : 1;

template <class Load>
class SketchPass {
 public:
  using D = typename Load::D;
  using V = hn::Vec<D>;
  using Element = typename Load::Element;

  HWY_INLINE void Run(const Element* p, size_t n, SketchSums* out) {
    const D d;
    const size_t lanes = hn::Lanes(d);
    const size_t step = 2 * kChainPairs * lanes;
    sum_.Clear();
    square_sum_.Clear();
    min0_ = min1_ = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
    max0_ = max1_ = hn::Neg(min0_);
    while (n >= step) {
      const size_t steps = std::min(n / step, kSketchBlock);
      n -= steps * step;
      Block(p, steps, FetchAhead(n * sizeof(Element)));
      p += steps * step;
    }
    for (; n >= lanes; n -= lanes, p += lanes) One(Load::Load(p));
    if (n > 0) Last(p, n);
    Finish(out);
  }

 private:
  struct Chain {
    V sum, square_sum, min, max;

    HWY_INLINE void Add(V v) {
      sum = hn::Add(sum, v);
      square_sum = hn::MulAdd(v, v, square_sum);
      min = hn::Min(min, v);
      max = hn::Max(max, v);
    }
  };

  HWY_INLINE void Block(const Element* p, size_t steps, size_t ahead) {
    const size_t lanes = hn::Lanes(D());
    const V zero = hn::Zero(D());
    Chain a{zero, zero, min0_, max0_}, b{zero, zero, min1_, max1_};
    Chain c = a, e = b;
    for (size_t i = 0; i < steps; ++i, p += 2 * kChainPairs * lanes) {
      Fetch(p, ahead);
      const VectorPair<V> first = Load::LoadTwo(p);
      a.Add(first.a);
      b.Add(first.b);
      if constexpr (kChainPairs == 2) {
        const VectorPair<V> second = Load::LoadTwo(p + 2 * lanes);
        c.Add(second.a);
        e.Add(second.b);
      }
    }
    Take(a, &min0_, &max0_);
    Take(b, &min1_, &max1_);
    if constexpr (kChainPairs == 2) {
      Take(c, &min0_, &max0_);
      Take(e, &min1_, &max1_);
    }
  }

  // Prefetches each cache line of a step.
  static HWY_INLINE void Fetch(const Element* p, size_t ahead) {
    const auto* bytes = reinterpret_cast<const char*>(p) + ahead;
    constexpr size_t kLine = 64;
    const size_t step = 2 * kChainPairs * hn::Lanes(D()) * sizeof(Element);
    for (size_t i = 0; i < step; i += kLine) hwy::Prefetch(bytes + i);
  }

  HWY_INLINE void Take(const Chain& chain, V* min, V* max) {
    *min = hn::Min(*min, chain.min);
    *max = hn::Max(*max, chain.max);
    sum_.Add(chain.sum);
    square_sum_.Add(chain.square_sum);
  }

  HWY_INLINE void One(V v) {
    min0_ = hn::Min(min0_, v);
    max0_ = hn::Max(max0_, v);
    sum_.Add(v);
    square_sum_.Add(hn::Mul(v, v));
  }

  // Pads with the last element for minimum and maximum, with zeros for sums.
  HWY_INLINE void Last(const Element* p, size_t n) {
    const D d;
    HWY_ALIGN Element last[hn::MaxLanes(D())];
    std::memcpy(last, p, n * sizeof(Element));
    // Not p[n - 1], which may be unaligned.
    std::fill(last + n, last + hn::Lanes(d), last[n - 1]);
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
