#include "agent/tensor/tensor_view.h"

#include <limits>

namespace graphdbg {

std::optional<int64_t> TensorView::byte_count() const {
  std::optional<int64_t> count = element_count();
  if (!count) return std::nullopt;
  const int64_t size = static_cast<int64_t>(ItemSize(dtype));
  if (size > 0 && *count > std::numeric_limits<int64_t>::max() / size) {
    return std::nullopt;
  }
  return *count * size;
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
