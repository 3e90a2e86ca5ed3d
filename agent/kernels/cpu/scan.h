// Visits a tensor's elements in memory order, run by run.
#ifndef AGENT_KERNELS_CPU_SCAN_H_
#define AGENT_KERNELS_CPU_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "agent/tensor/layout.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::cpu {

// Shorter runs are packed into a buffer first.
constexpr int64_t kDirectRun = 512;
constexpr size_t kPackBytes = 8192;

// Prefetch distance in bytes for passes that compute while memory is loaded;
// hardware prefetchers look less far ahead. 0 near the end, when few bytes are
// left.
constexpr size_t FetchAhead(size_t bytes_left) {
  constexpr size_t kAhead = 4096;
  return bytes_left > 2 * kAhead ? kAhead : 0;
}

// Number of elements visited, and how often each occurs in the view.
struct Scanned {
  int64_t count = 0;
  int64_t multiplicity = 1;
};

// Whether the elements are contiguous in row-major order, as is usual.
inline bool IsRowMajor(const TensorView& view) {
  if (view.strides == nullptr) return true;
  int64_t stride = 1;
  for (size_t d = view.ndim; d-- > 0;) {
    if (view.shape[d] != 1 && view.strides[d] != stride) return false;
    stride *= view.shape[d];
  }
  return true;
}

// Packs short runs into a buffer of kPackBytes.
template <class Visit>
bool ScanShortRuns(const Layout& layout, size_t item_size, const Visit& visit) {
  alignas(64) char buffer[kPackBytes];
  const size_t run_bytes = static_cast<size_t>(layout.run_length()) * item_size;
  size_t filled = 0;
  for (RunWalker walker(layout, item_size); !walker.done(); walker.Next()) {
    if (filled + run_bytes > kPackBytes) {
      if (!visit(buffer, filled / item_size)) return false;
      filled = 0;
    }
    std::memcpy(buffer + filled, walker.run(), run_bytes);
    filled += run_bytes;
  }
  return filled == 0 || visit(buffer, filled / item_size);
}

// Calls visit(elements, n), n >= 1, until all elements are visited or a call
// returns false. Broadcast elements are visited once. Absent if the view's
// shape is invalid or its values cannot be read.
template <class Visit>
std::optional<Scanned> Scan(const TensorView& view, const Visit& visit) {
  const size_t item_size = ItemSize(view.dtype);
  const std::optional<int64_t> count = view.element_count();
  if (!count || item_size == 0) return std::nullopt;
  if (*count == 0) return Scanned{};
  if (IsRowMajor(view)) {
    visit(static_cast<const char*>(view.data), static_cast<size_t>(*count));
    return Scanned{*count, 1};
  }
  const std::optional<Layout> layout = Layout::Of(view);
  if (!layout) return std::nullopt;
  const int64_t run = layout->run_length();
  if (run < kDirectRun) {
    ScanShortRuns(*layout, item_size, visit);
  } else {
    for (RunWalker walker(*layout, item_size); !walker.done(); walker.Next()) {
      if (!visit(walker.run(), static_cast<size_t>(run))) break;
    }
  }
  return Scanned{layout->count, layout->multiplicity};
}

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_SCAN_H_
