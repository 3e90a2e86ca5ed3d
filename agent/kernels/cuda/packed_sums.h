// Sums of one thread over 16-bit floats, two of them in each word. To keep up
// with memory, a GPU can spend only a few instructions per element, so both
// halves are processed together where possible.
#ifndef AGENT_KERNELS_CUDA_PACKED_SUMS_H_
#define AGENT_KERNELS_CUDA_PACKED_SUMS_H_

#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#include "agent/kernels/cuda/element.h"
#include "agent/kernels/cuda/load.h"
#include "agent/kernels/cuda/merge.h"
#include "agent/kernels/cuda/moments.h"
#include "agent/kernels/cuda/portable.h"
#include "agent/kernels/cuda/work.h"

namespace graphdbg::cuda {

// The upper bit of each half. Also used as a flag for each half.
constexpr uint32_t kFlags = 0x80008000;

GRAPHDBG_PORTABLE constexpr uint32_t BothHalves(uint32_t half) {
  return half << 16 | half;
}

// Minimum and maximum of both halves of a and b; NaN if either operand is.
#ifdef __CUDA_ARCH__
template <class Element>
GRAPHDBG_PORTABLE uint32_t PackedMin(uint32_t a, uint32_t b) {
  uint32_t result;
  if constexpr (std::is_same_v<Element, Bfloat16>) {
    asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  } else {
    asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  }
  return result;
}

template <class Element>
GRAPHDBG_PORTABLE uint32_t PackedMax(uint32_t a, uint32_t b) {
  uint32_t result;
  if constexpr (std::is_same_v<Element, Bfloat16>) {
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  } else {
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  }
  return result;
}
#else
template <class Element, class Better>
uint32_t PackedBest(uint32_t a, uint32_t b, Better better) {
  const auto best = [&](uint32_t left, uint32_t right) -> uint32_t {
    const float x = Element::Value(static_cast<uint16_t>(left));
    const float y = Element::Value(static_cast<uint16_t>(right));
    return (x != x || better(x, y) ? left : right) & 0xFFFF;
  };
  return best(a, b) | best(a >> 16, b >> 16) << 16;
}
template <class Element>
uint32_t PackedMin(uint32_t a, uint32_t b) {
  return PackedBest<Element>(a, b, std::less<float>());
}
template <class Element>
uint32_t PackedMax(uint32_t a, uint32_t b) {
  return PackedBest<Element>(a, b, std::greater<float>());
}
#endif

// Sets all bits of flagged halves.
GRAPHDBG_PORTABLE uint32_t MaskOf(uint32_t flags) {
  return (flags >> 15) * 0xFFFF;
}

// Counts flagged halves.
class FlagCount {
 public:
  GRAPHDBG_PORTABLE void Add(uint32_t flags) {
#ifdef __CUDA_ARCH__
    // Sums bytes; each flag has the value 128 in its byte.
    units_ = __dp4a(flags, 0x01000100u, units_);
#else
    units_ += kUnit * ((flags >> 15 & 1) + (flags >> 31));
#endif
  }
  GRAPHDBG_PORTABLE void Remove() { units_ -= kUnit; }
  // At most 2^25, far more than one thread reads.
  GRAPHDBG_PORTABLE uint32_t value() const { return units_ / kUnit; }

 private:
  static constexpr uint32_t kUnit = 128;
  uint32_t units_ = 0;
};

template <class Element>
class PackedSums {
 public:
  GRAPHDBG_PORTABLE explicit PackedSums(double origin) : origin_(origin) {}

  GRAPHDBG_PORTABLE void Add(uint16_t raw) {
    // Paired with a NaN, which is then subtracted from the counts.
    AddMixed(uint32_t{raw} | 0x7FFF0000);
    nan_.Remove();
    --count_;
  }

  // Adds all elements of the vectors.
  template <int kVectors>
  GRAPHDBG_PORTABLE void AddVectors(const Vector (&vectors)[kVectors]) {
    constexpr int kWords = 4 * kVectors;
    uint32_t words[kWords];
    memcpy(words, vectors, sizeof(words));
    uint32_t low = words[0];
    uint32_t high = words[0];
    GRAPHDBG_UNROLL
    for (int i = 1; i < kWords; ++i) {
      low = PackedMin<Element>(low, words[i]);
      high = PackedMax<Element>(high, words[i]);
    }
    if ((NotFinite(low) | NotFinite(high)) == 0) {
      min_ = PackedMin<Element>(min_, low);
      max_ = PackedMax<Element>(max_, high);
      GRAPHDBG_UNROLL
      for (int i = 0; i < kWords; ++i) AddFinite(words[i]);
    } else {
      GRAPHDBG_UNROLL
      for (int i = 0; i < kWords; ++i) AddMixed(words[i]);
    }
  }

  GRAPHDBG_PORTABLE Partial Finish() const {
    Partial p = EmptyPartial(origin_);
    p.nan_count = nan_.value();
    p.pos_inf_count = pos_inf_.value();
    p.neg_inf_count = neg_inf_.value();
    p.finite_count =
        count_ - nan_.value() - pos_inf_.value() - neg_inf_.value();
    if (p.finite_count == 0) return p;
    p.zero_count = p.finite_count - nonzero_.value();
    p.negative_count = negative_.value();
    p.min = ValueOf(PackedMin<Element>(min_, min_ >> 16));
    p.max = ValueOf(PackedMax<Element>(max_, max_ >> 16));
    moments_.Finish(&p);
    return p;
  }

 private:
  static constexpr uint32_t kInfinity = BothHalves(Element::kInfinityBits);

  // The value of the lower half.
  GRAPHDBG_PORTABLE static double ValueOf(uint32_t word) {
    return static_cast<double>(Element::Value(static_cast<uint16_t>(word)));
  }

  // Flags the halves whose bits, without the sign, are at least `least`: the
  // addition then carries into the sign bit, and never beyond.
  GRAPHDBG_PORTABLE static uint32_t AtLeast(uint32_t least, uint32_t word) {
    return ((word & ~kFlags) + BothHalves(0x8000 - least)) & kFlags;
  }
  GRAPHDBG_PORTABLE static uint32_t NotFinite(uint32_t word) {
    return AtLeast(Element::kInfinityBits, word);
  }

  GRAPHDBG_PORTABLE void AddFinite(uint32_t word) {
    const uint32_t nonzero = AtLeast(1, word);
    nonzero_.Add(nonzero);
    negative_.Add(nonzero & word);
    count_ += 2;
    moments_.AddIf(true, ValueOf(word));
    moments_.AddIf(true, ValueOf(word >> 16));
  }

  // Branch-free because finite and other elements may be interleaved.
  GRAPHDBG_PORTABLE void AddMixed(uint32_t word) {
    const uint32_t bad = NotFinite(word);
    const uint32_t nan = AtLeast(Element::kInfinityBits + 1, word);
    nan_.Add(nan);
    pos_inf_.Add(bad & ~nan & ~word);
    neg_inf_.Add(bad & ~nan & word);
    const uint32_t mask = MaskOf(bad);
    const uint32_t good = word & ~mask;
    min_ = PackedMin<Element>(min_, good | (mask & kInfinity));
    max_ = PackedMax<Element>(max_, good | (mask & (kInfinity | kFlags)));
    // Additional zeros change neither the sums nor the counts of nonzero
    // elements.
    AddFinite(good);
  }

  const double origin_;
  Moments moments_;
  uint32_t min_ = kInfinity;
  uint32_t max_ = kInfinity | kFlags;
  uint32_t count_ = 0;
  FlagCount nonzero_;
  FlagCount negative_;
  FlagCount nan_;
  FlagCount pos_inf_;
  FlagCount neg_inf_;
};

}  // namespace graphdbg::cuda

#endif  // AGENT_KERNELS_CUDA_PACKED_SUMS_H_
