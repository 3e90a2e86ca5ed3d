// The element types that graphdbg knows.
#ifndef AGENT_TENSOR_DTYPE_H_
#define AGENT_TENSOR_DTYPE_H_

#include <cstddef>
#include <cstdint>

namespace graphdbg {

// Numbers as in agent/include/graphdbg/agent.h and
// proto/graphdbg/v1/tensor.proto.
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
  // Has values that graphdbg does not read.
  kOther = 16,
  kFloat8E4m3fn = 17,
  kFloat8E5m2 = 18,
};

// Of any number: what is out of range becomes kOther.
DType DTypeFromNumber(int64_t number);

// Bytes of an element; 0 if its values cannot be read.
size_t ItemSize(DType dtype);

// NumPy's name, as "float32"; "bfloat16" and "float8_e5m2" as ml_dtypes has
// them; "other" and "unspecified" beside them.
const char* NumpyName(DType dtype);

// Whether statistics are defined for it: booleans, integers, real floats.
bool HasStatistics(DType dtype);

// Whether it can hold NaN and infinities (and has statistics).
bool IsFloating(DType dtype);

}  // namespace graphdbg

#endif  // AGENT_TENSOR_DTYPE_H_
