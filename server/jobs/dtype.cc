#include "server/jobs/dtype.h"

#include <iterator>

namespace graphdbg::jobs {
namespace {

struct Row {
  std::string_view name;
  uint64_t bytes;
};

constexpr Row kRows[] = {
    {"bool", 1},          {"int8", 1},        {"uint8", 1},
    {"int16", 2},         {"uint16", 2},      {"float16", 2},
    {"bfloat16", 2},      {"int32", 4},       {"uint32", 4},
    {"float32", 4},       {"int64", 8},       {"uint64", 8},
    {"float64", 8},       {"complex64", 8},   {"complex128", 16},
    {"float8_e4m3fn", 1}, {"float8_e5m2", 1},
};

}  // namespace

std::optional<uint64_t> ItemBytes(std::string_view dtype) {
  for (const Row& row : kRows) {
    if (row.name == dtype) return row.bytes;
  }
  return std::nullopt;
}

std::optional<uint64_t> DenseBytes(uint64_t item_bytes,
                                   const std::vector<int64_t>& shape) {
  uint64_t bytes = item_bytes;
  for (int64_t size : shape) {
    if (size < 0 ||
        __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

}  // namespace graphdbg::jobs
