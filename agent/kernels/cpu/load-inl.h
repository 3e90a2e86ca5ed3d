// Loads elements of each type as float32 or float64 lanes. Compiled once per
// instruction set, see Highway's foreach_target.h.
#if defined(AGENT_KERNELS_CPU_LOAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AGENT_KERNELS_CPU_LOAD_INL_H_
#undef AGENT_KERNELS_CPU_LOAD_INL_H_
#else
#define AGENT_KERNELS_CPU_LOAD_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace graphdbg::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Two vectors of elements, in any order.
template <class V>
struct VectorPair {
  V a, b;
};

using F64 = hn::ScalableTag<double>;
using V64 = hn::Vec<F64>;
using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

struct LoadFloat64 {
  using Element = double;
  using D = F64;
  static HWY_INLINE V64 Load(const double* p) { return hn::LoadU(F64(), p); }
  static HWY_INLINE VectorPair<V64> LoadTwo(const double* p) {
    return {Load(p), Load(p + hn::Lanes(F64()))};
  }
};

struct LoadFloat32 {
  using Element = float;
  using D = F32;
  static HWY_INLINE V32 Load(const float* p) { return hn::LoadU(F32(), p); }
  static HWY_INLINE VectorPair<V32> LoadTwo(const float* p) {
    return {Load(p), Load(p + hn::Lanes(F32()))};
  }
};

struct LoadBfloat16 {
  using Element = uint16_t;
  using D = F32;
  static HWY_INLINE V32 Load(const uint16_t* p) {
    const hn::Rebind<uint32_t, D> wide;
    const hn::Rebind<uint16_t, D> narrow;
    return hn::BitCast(
        D(), hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(narrow, p))));
  }
  // Elements at even and at odd positions.
  static HWY_INLINE VectorPair<V32> LoadTwo(const uint16_t* p) {
    const hn::RebindToUnsigned<D> bits;
    const auto both = hn::LoadU(bits, reinterpret_cast<const uint32_t*>(p));
    const auto odd = hn::And(both, hn::Set(bits, 0xFFFF0000));
    return {hn::BitCast(D(), hn::ShiftLeft<16>(both)), hn::BitCast(D(), odd)};
  }
};

// On targets without float16 instructions, Highway's conversion turns
// infinities and NaN into finite numbers.
#undef GRAPHDBG_FLOAT16_FINITE_ONLY
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || \
    (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2)
#define GRAPHDBG_FLOAT16_FINITE_ONLY 1
#else
#define GRAPHDBG_FLOAT16_FINITE_ONLY 0
#endif

struct LoadFloat16 {
  using Element = uint16_t;
  using D = F32;
  static HWY_INLINE V32 Load(const uint16_t* p) {
    const hn::Rebind<hwy::float16_t, D> half;
    const V32 v = hn::PromoteTo(
        D(), hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(p)));
#if GRAPHDBG_FLOAT16_FINITE_ONLY
    const hn::Rebind<uint32_t, D> wide;
    const hn::Rebind<uint16_t, D> narrow;
    const auto bits = hn::PromoteTo(wide, hn::LoadU(narrow, p));
    const auto exponent = hn::Set(wide, 0x7C00);
    const auto special = hn::Eq(hn::And(bits, exponent), exponent);
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(wide, 0x8000)));
    const auto fraction =
        hn::ShiftLeft<13>(hn::And(bits, hn::Set(wide, 0x03FF)));
    const auto value =
        hn::Or(hn::Set(wide, 0x7F800000), hn::Or(sign, fraction));
    return hn::IfThenElse(hn::RebindMask(D(), special), hn::BitCast(D(), value),
                          v);
#else
    return v;
#endif
  }
  static HWY_INLINE VectorPair<V32> LoadTwo(const uint16_t* p) {
    return {Load(p), Load(p + hn::Lanes(F32()))};
  }
};

#undef GRAPHDBG_FLOAT16_FINITE_ONLY

// Sums float32 or float64 lanes in float64. Initialized by a function because
// implicit constructors are not compiled for Highway's target.
struct Total64 {
  V64 low, high;

  HWY_INLINE void Clear() { low = high = hn::Zero(F64()); }
  HWY_INLINE void Add(V64 v) { low = hn::Add(low, v); }
  HWY_INLINE void Add(V32 v) {
#if HWY_TARGET == HWY_SCALAR
    // A single lane has no upper half.
    low = hn::Add(low, hn::PromoteTo(F64(), v));
#else
    const hn::Half<F32> half;
    low = hn::Add(low, hn::PromoteTo(F64(), hn::LowerHalf(half, v)));
    high = hn::Add(high, hn::PromoteTo(F64(), hn::UpperHalf(half, v)));
#endif
  }
  HWY_INLINE double Sum() const {
    return hn::GetLane(hn::SumOfLanes(F64(), hn::Add(low, high)));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace graphdbg::cpu
HWY_AFTER_NAMESPACE();

#endif  // AGENT_KERNELS_CPU_LOAD_INL_H_
