#include "server/tensor/shape.h"

namespace graphdbg::tensor {
namespace {

std::optional<uint64_t> Multiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

}  // namespace

std::optional<uint64_t> ElementCount(const std::vector<int64_t>& shape) {
  std::optional<uint64_t> count = 1;
  for (int64_t size : shape) {
    if (size < 0) return std::nullopt;
    count = Multiply(*count, static_cast<uint64_t>(size));
    if (!count) return std::nullopt;
  }
  return count;
}

std::optional<uint64_t> DenseBytes(DType dtype,
                                   const std::vector<int64_t>& shape) {
  const size_t item_bytes = ItemSize(dtype);
  const std::optional<uint64_t> count = ElementCount(shape);
  if (item_bytes == 0 || !count) return std::nullopt;
  return Multiply(item_bytes, *count);
}

}  // namespace graphdbg::tensor
