// Conversions of floating-point formats that C++20 lacks. Every value of them
// is a float.
#ifndef SERVER_TENSOR_SHORT_FLOATS_H_
#define SERVER_TENSOR_SHORT_FLOATS_H_

#include <bit>
#include <cmath>
#include <cstdint>

namespace graphdbg::tensor {

// IEEE 754 binary16.
inline float Float16Value(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  float value;
  if (exponent == 0x1f) {
    value = fraction != 0 ? NAN : INFINITY;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    value = std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// The upper half of a float.
inline float Bfloat16Value(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

// The 8-bit formats of arXiv:2209.05433. E5M2 is the upper byte of a binary16;
// E4M3 has no infinities.
inline float Float8E5m2Value(uint8_t bits) {
  return Float16Value(static_cast<uint16_t>(bits << 8));
}

inline float Float8E4m3fnValue(uint8_t bits) {
  const int exponent = (bits >> 3) & 0xf;
  const int fraction = bits & 0x7;
  float value;
  if (exponent == 0xf && fraction == 0x7) {
    value = NAN;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -9);
  } else {
    value = std::ldexp(static_cast<float>(fraction + 8), exponent - 10);
  }
  return (bits & 0x80) != 0 ? -value : value;
}

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_SHORT_FLOATS_H_
