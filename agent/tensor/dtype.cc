#include "agent/tensor/dtype.h"

namespace graphdbg {
namespace {

struct Row {
  const char* name;
  size_t size;
};

// Indexed by the number of the dtype.
constexpr Row kRows[] = {
    {"unspecified", 0}, {"bool", 1},    {"int8", 1},
    {"int16", 2},       {"int32", 4},   {"int64", 8},
    {"uint8", 1},       {"uint16", 2},  {"uint32", 4},
    {"uint64", 8},      {"float16", 2}, {"bfloat16", 2},
    {"float32", 4},     {"float64", 8}, {"complex64", 8},
    {"complex128", 16}, {"other", 0},   {"float8_e4m3fn", 1},
    {"float8_e5m2", 1},
};
constexpr int64_t kCount = sizeof(kRows) / sizeof(kRows[0]);
static_assert(kCount == static_cast<int64_t>(DType::kFloat8E5m2) + 1);

const Row& RowOf(DType dtype) {
  return kRows[static_cast<int64_t>(
      DTypeFromNumber(static_cast<int64_t>(dtype)))];
}

}  // namespace

DType DTypeFromNumber(int64_t number) {
  if (number < 0 || number >= kCount) return DType::kOther;
  return static_cast<DType>(number);
}

size_t ItemSize(DType dtype) { return RowOf(dtype).size; }

const char* ToString(DType dtype) { return RowOf(dtype).name; }

std::optional<DType> ParseDType(std::string_view name) {
  for (int64_t number = 0; number < kCount; ++number) {
    if (kRows[number].name == name) return static_cast<DType>(number);
  }
  return std::nullopt;
}

bool HasStatistics(DType dtype) {
  return dtype >= DType::kBool && dtype <= DType::kFloat64;
}

bool IsFloating(DType dtype) {
  return dtype >= DType::kFloat16 && dtype <= DType::kFloat64;
}

}  // namespace graphdbg
