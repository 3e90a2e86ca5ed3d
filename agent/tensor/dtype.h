// Element types of tensors, their names and sizes.
#ifndef AGENT_TENSOR_DTYPE_H_
#define AGENT_TENSOR_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace graphdbg {

// The numbers equal those of graphdbg_dtype (agent/include/graphdbg/agent.h)
// and of v1::DType (proto/graphdbg/v1/tensor.proto).
enum class DType : uint8_t {
  kUnspecified = 0,
  kBool = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kUint8 = 6,
  kUint16 = 7,
  kUint32 = 8,
  kUint64 = 9,
  kFloat16 = 10,
  kBfloat16 = 11,
  kFloat32 = 12,
  kFloat64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  // Any type whose values graphdbg cannot read.
  kOther = 16,
  kFloat8E4m3fn = 17,
  kFloat8E5m2 = 18,
};

// Converts a number from the wire or the C interface. Unknown numbers become
// kOther.
DType DTypeFromNumber(int64_t number);

// Size of an element in bytes; 0 for kUnspecified and kOther.
size_t ItemSize(DType dtype);

// The name in NumPy or ml_dtypes, such as "float32" or "bfloat16"; "other" and
// "unspecified" for the types that have none.
const char* ToString(DType dtype);

// The inverse of ToString(); absent for any other text.
std::optional<DType> ParseDType(std::string_view name);

// Whether statistics are defined for the type: booleans, integers, and real
// floating-point types except float8.
bool HasStatistics(DType dtype);

// Whether the type has statistics and can represent NaN and infinities.
bool IsFloating(DType dtype);

}  // namespace graphdbg

#endif  // AGENT_TENSOR_DTYPE_H_
