// Sums of one thread over its elements. The same code runs on a GPU and, in
// tests, on the CPU.
#ifndef AGENT_KERNELS_CUDA_SUMS_H_
#define AGENT_KERNELS_CUDA_SUMS_H_

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "agent/kernels/cuda/element.h"
#include "agent/kernels/cuda/load.h"
#include "agent/kernels/cuda/merge.h"
#include "agent/kernels/cuda/moments.h"
#include "agent/kernels/cuda/portable.h"
#include "agent/kernels/cuda/work.h"

namespace graphdbg::cuda {

// Minimum and maximum; NaN if either operand is.
template <class T>
GRAPHDBG_PORTABLE T MinOrNan(T a, T b) {
  return b < a || b != b ? b : a;
}
template <class T>
GRAPHDBG_PORTABLE T MaxOrNan(T a, T b) {
  return b > a || b != b ? b : a;
}
#ifdef __CUDA_ARCH__
GRAPHDBG_PORTABLE float MinOrNan(float a, float b) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
GRAPHDBG_PORTABLE float MaxOrNan(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
#endif

// The sums of one thread. 32-bit counts suffice for the elements of a thread.
template <class Element>
class Sums {
 public:
  using Raw = typename Element::Raw;
  using Order = typename Element::Order;

  GRAPHDBG_PORTABLE explicit Sums(double origin) : origin_(origin) {}

  GRAPHDBG_PORTABLE void Add(Raw raw) {
    const Order x = Element::Value(raw);
    const bool finite = IsFinite(x);
    if constexpr (Element::kFloating) {
      nan_ += x != x ? 1 : 0;
      pos_inf_ += x == kUpperBound ? 1 : 0;
      neg_inf_ += x == kLowerBound ? 1 : 0;
    }
    min_ = MinOrNan(min_, finite ? x : kUpperBound);
    max_ = MaxOrNan(max_, finite ? x : kLowerBound);
    // Additional zeros change neither the sums nor the counts of nonzero
    // elements.
    AddIf(finite, finite ? x : 0);
  }

  // Adds all elements of the vectors.
  template <int kVectors>
  GRAPHDBG_PORTABLE void AddVectors(const Vector (&vectors)[kVectors]) {
    constexpr int kCount = kVectors * (sizeof(Vector) / sizeof(Raw));
    Raw raws[kCount];
    memcpy(raws, vectors, sizeof(raws));
    Order low = Element::Value(raws[0]);
    Order high = low;
    GRAPHDBG_UNROLL
    for (int i = 1; i < kCount; ++i) {
      low = MinOrNan(low, Element::Value(raws[i]));
      high = MaxOrNan(high, Element::Value(raws[i]));
    }
    if (IsFinite(low) && IsFinite(high)) {
      min_ = MinOrNan(min_, low);
      max_ = MaxOrNan(max_, high);
      GRAPHDBG_UNROLL
      for (int i = 0; i < kCount; ++i) AddIf(true, Element::Value(raws[i]));
    } else {
      GRAPHDBG_UNROLL
      for (int i = 0; i < kCount; ++i) Add(raws[i]);
    }
  }

  GRAPHDBG_PORTABLE Partial Finish() const {
    Partial p = EmptyPartial(origin_);
    p.nan_count = nan_;
    p.pos_inf_count = pos_inf_;
    p.neg_inf_count = neg_inf_;
    p.finite_count = count_ - nan_ - pos_inf_ - neg_inf_;
    if (p.finite_count == 0) return p;
    p.zero_count = p.finite_count - nonzero_;
    p.negative_count = negative_;
    p.min = static_cast<double>(min_);
    p.max = static_cast<double>(max_);
    moments_.Finish(&p);
    return p;
  }

 private:
  using Limits = std::numeric_limits<Order>;
  // Initial values of minimum and maximum.
  static constexpr Order kUpperBound =
      Element::kFloating ? Limits::infinity() : Limits::max();
  static constexpr Order kLowerBound =
      Element::kFloating ? -Limits::infinity() : Limits::lowest();

  GRAPHDBG_PORTABLE static bool IsFinite(Order x) {
    return !Element::kFloating || (x > kLowerBound && x < kUpperBound);
  }

  // Branch-free because finite and other elements may be interleaved; x is 0 if
  // `counts` is false.
  GRAPHDBG_PORTABLE void AddIf(bool counts, Order x) {
    ++count_;
    nonzero_ += x != 0 ? 1 : 0;
    if constexpr (Limits::is_signed) negative_ += x < 0 ? 1 : 0;
    moments_.AddIf(counts, static_cast<double>(x));
  }

  const double origin_;
  std::conditional_t<(sizeof(Raw) > 2),
                     DistanceMoments<std::is_same_v<Element, Float64>>, Moments>
      moments_;
  Order min_ = kUpperBound;
  Order max_ = kLowerBound;
  uint32_t count_ = 0;
  uint32_t nonzero_ = 0;
  uint32_t negative_ = 0;
  uint32_t nan_ = 0;
  uint32_t pos_inf_ = 0;
  uint32_t neg_inf_ = 0;
};

}  // namespace graphdbg::cuda

#endif  // AGENT_KERNELS_CUDA_SUMS_H_
