#include "agent/tensor/tensor_view.h"

namespace graphdbg {

std::optional<int64_t> TensorView::byte_count() const {
  std::optional<int64_t> count = element_count();
  if (!count) return std::nullopt;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(*count, static_cast<int64_t>(ItemSize(dtype)),
                             &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

bool TensorView::row_major() const {
  if (strides == nullptr || element_count() == 0) return true;
  int64_t expected = 1;
  for (size_t i = ndim; i-- > 0;) {
    if (shape[i] > 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

}  // namespace graphdbg
