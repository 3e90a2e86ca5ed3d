// Element types as seen by kernels.
#ifndef AGENT_KERNELS_CUDA_ELEMENT_H_
#define AGENT_KERNELS_CUDA_ELEMENT_H_

#include <cstdint>
#include <cstring>

#include "agent/kernels/cuda/portable.h"

namespace graphdbg::cuda {

template <class To, class From>
GRAPHDBG_PORTABLE To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

GRAPHDBG_PORTABLE float HalfToFloat(uint16_t bits) {
#ifdef __CUDA_ARCH__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#else
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t magnitude = bits & 0x7FFF;
  if (magnitude >= 0x7C00) {
    return BitCast<float>(sign | 0x7F800000 | (magnitude & 0x3FF) << 13);
  }
  // The bias of the exponent is 112 smaller. A multiplication corrects it and
  // also normalizes subnormal numbers.
  const float scaled = BitCast<float>(magnitude << 13);
  const float value = scaled * BitCast<float>(uint32_t{(112 + 127) << 23});
  return BitCast<float>(BitCast<uint32_t>(value) | sign);
#endif
}

// Each type defines Raw, its representation in memory; Order, a type that
// represents and compares its values exactly; Value(), the value of a raw
// element; and IsFinite(), which is always true unless kFloating. 16-bit floats
// are read two at a time, see packed_sums.h.

template <class T, class O>
struct Integer {
  using Raw = T;
  using Order = O;
  static constexpr bool kFloating = false;
  GRAPHDBG_PORTABLE static Order Value(Raw raw) {
    return static_cast<Order>(raw);
  }
  GRAPHDBG_PORTABLE static bool IsFinite(Raw) { return true; }
};

struct Bool {
  using Raw = uint8_t;
  using Order = int32_t;
  static constexpr bool kFloating = false;
  GRAPHDBG_PORTABLE static Order Value(Raw raw) { return raw != 0 ? 1 : 0; }
  GRAPHDBG_PORTABLE static bool IsFinite(Raw) { return true; }
};

struct Float16 {
  using Raw = uint16_t;
  using Order = float;
  static constexpr bool kFloating = true;
  static constexpr uint32_t kInfinityBits = 0x7C00;
  GRAPHDBG_PORTABLE static Order Value(Raw raw) { return HalfToFloat(raw); }
  GRAPHDBG_PORTABLE static bool IsFinite(Raw raw) {
    return (raw & 0x7C00) != 0x7C00;
  }
};

struct Bfloat16 {
  using Raw = uint16_t;
  using Order = float;
  static constexpr bool kFloating = true;
  static constexpr uint32_t kInfinityBits = 0x7F80;
  GRAPHDBG_PORTABLE static Order Value(Raw raw) {
    return BitCast<float>(static_cast<uint32_t>(raw) << 16);
  }
  GRAPHDBG_PORTABLE static bool IsFinite(Raw raw) {
    return (raw & 0x7F80) != 0x7F80;
  }
};

struct Float32 {
  using Raw = uint32_t;
  using Order = float;
  static constexpr bool kFloating = true;
  GRAPHDBG_PORTABLE static Order Value(Raw raw) { return BitCast<float>(raw); }
  GRAPHDBG_PORTABLE static bool IsFinite(Raw raw) {
    return (raw & 0x7F800000) != 0x7F800000;
  }
};

struct Float64 {
  using Raw = uint64_t;
  using Order = double;
  static constexpr bool kFloating = true;
  GRAPHDBG_PORTABLE static Order Value(Raw raw) { return BitCast<double>(raw); }
  GRAPHDBG_PORTABLE static bool IsFinite(Raw raw) {
    return (raw & 0x7FF0000000000000) != 0x7FF0000000000000;
  }
};

using Int8 = Integer<int8_t, int32_t>;
using Int16 = Integer<int16_t, int32_t>;
using Int32 = Integer<int32_t, int32_t>;
using Int64 = Integer<int64_t, int64_t>;
using Uint8 = Integer<uint8_t, int32_t>;
using Uint16 = Integer<uint16_t, int32_t>;
using Uint32 = Integer<uint32_t, uint32_t>;
using Uint64 = Integer<uint64_t, uint64_t>;

// Calls what(Type) for each type that has statistics.
#define GRAPHDBG_FOR_EACH_ELEMENT(what)                                   \
  what(Bool) what(Int8) what(Int16) what(Int32) what(Int64) what(Uint8)   \
      what(Uint16) what(Uint32) what(Uint64) what(Float16) what(Bfloat16) \
          what(Float32) what(Float64)

}  // namespace graphdbg::cuda

#endif  // AGENT_KERNELS_CUDA_ELEMENT_H_
