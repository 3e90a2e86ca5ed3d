#include "agent/tensor/layout.h"

#include <utility>

namespace graphdbg {
namespace {

// Insertion sort: dimensions are few and usually almost sorted.
void SortByStride(Layout* layout) {
  auto& dims = layout->dimensions;
  for (size_t i = 1; i < layout->ndim; ++i) {
    for (size_t j = i; j > 0 && dims[j].stride < dims[j - 1].stride; --j) {
      std::swap(dims[j], dims[j - 1]);
    }
  }
}

void MergeNeighbours(Layout* layout) {
  if (layout->ndim == 0) return;
  auto& dims = layout->dimensions;
  size_t last = 0;
  for (size_t i = 1; i < layout->ndim; ++i) {
    int64_t end;
    if (!__builtin_mul_overflow(dims[last].size, dims[last].stride, &end) &&
        end == dims[i].stride) {
      dims[last].size *= dims[i].size;
    } else {
      dims[++last] = dims[i];
    }
  }
  layout->ndim = last + 1;
}

}  // namespace

std::optional<Layout> Layout::Of(const TensorView& view) {
  const std::optional<int64_t> count = view.element_count();
  if (!count) return std::nullopt;
  // Returned without a copy.
  std::optional<Layout> result(std::in_place);
  Layout& layout = *result;
  layout.base = static_cast<const char*>(view.data);
  layout.count = *count;
  if (*count <= 1) return result;
  if (view.row_major()) {
    layout.dimensions[layout.ndim++] = {*count, 1};
    return result;
  }
  const int64_t* const strides = view.strides;
  const int64_t item_size = static_cast<int64_t>(ItemSize(view.dtype));
  for (size_t i = 0; i < view.ndim; ++i) {
    const int64_t size = view.shape[i];
    if (size == 1) continue;
    if (strides[i] == 0) {
      layout.multiplicity *= size;
      layout.count /= size;
      continue;
    }
    if (strides[i] < 0) layout.base += (size - 1) * strides[i] * item_size;
    layout.dimensions[layout.ndim++] = {
        size, strides[i] < 0 ? -strides[i] : strides[i]};
  }
  SortByStride(&layout);
  MergeNeighbours(&layout);
  return result;
}

RunWalker::RunWalker(const Layout& layout, size_t item_size)
    : layout_(layout),
      item_size_(static_cast<int64_t>(item_size)),
      first_(layout.run_length() > 1 ? 1 : 0),
      left_(layout.count / layout.run_length()),
      at_(layout.base) {
  index_.fill(0);
}

void RunWalker::Next() {
  --left_;
  for (size_t d = first_; d < layout_.ndim; ++d) {
    const Layout::Dimension& dim = layout_.dimensions[d];
    at_ += dim.stride * item_size_;
    if (++index_[d] < dim.size) return;
    at_ -= dim.size * dim.stride * item_size_;
    index_[d] = 0;
  }
}

}  // namespace graphdbg
