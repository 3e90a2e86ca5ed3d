#include "agent/core/seen_values.h"

#include <optional>

#include "agent/core/execution.h"
#include "agent/tensor/layout.h"

namespace graphdbg::agent {
namespace {

// The memory that a view's elements are in.
struct Place {
  const char* begin;
  const char* end;
  // The number of elements, and whether they fill the memory without gaps or
  // overlaps.
  int64_t count;
  bool dense;
};

std::optional<Place> PlaceOf(const graphdbg_tensor& tensor) {
  const TensorView view = ViewOf(tensor);
  const auto item_size = static_cast<int64_t>(ItemSize(view.dtype));
  if (tensor.storage_id == 0 || item_size == 0 ||
      !SeenValues::IsWorthwhile(tensor)) {
    return std::nullopt;
  }
  // Most are.
  if (view.row_major()) {
    const auto* const begin = static_cast<const char*>(view.data);
    const int64_t count = *view.element_count();
    return Place{begin, begin + count * item_size, count, /*dense=*/true};
  }
  const std::optional<Layout> layout = Layout::Of(view);
  if (!layout) return std::nullopt;
  int64_t last = 0;
  for (size_t d = 0; d < layout->ndim; ++d) {
    last += (layout->dimensions[d].size - 1) * layout->dimensions[d].stride;
  }
  return Place{layout->base, layout->base + (last + 1) * item_size,
               layout->count * layout->multiplicity,
               layout->is_one_run() && layout->multiplicity == 1};
}

}  // namespace

bool SeenValues::IsWorthwhile(const graphdbg_tensor& tensor) {
  return Readable(tensor) &&
         ViewOf(tensor).byte_count().value_or(0) >= kWorthwhileBytes;
}

void SeenValues::RecordWrite(uint64_t storage_id) {
  if (!any_.load(std::memory_order_acquire)) return;
  MutexLock lock(&mu_);
  if (Region* region = regions_.Find(storage_id)) region->intact = false;
}

void SeenValues::Put(const graphdbg_tensor& tensor,
                     const conditions::ScanResult& scan) {
  const std::optional<Place> place = PlaceOf(tensor);
  if (!place || !place->dense) return;
  MutexLock lock(&mu_);
  Region& region = regions_.At(tensor.storage_id);
  // The result for the larger tensor is kept.
  if (region.intact && region.count > place->count) return;
  any_.store(true, std::memory_order_release);
  region.intact = true;
  region.dtype = DTypeFromNumber(tensor.dtype);
  region.begin = place->begin;
  region.count = place->count;
  region.scan = scan;
  region.copy.reset();
}

void SeenValues::PutCopy(const graphdbg_tensor& tensor,
                         const std::shared_ptr<const PreviousValue>& copy) {
  const std::optional<Place> place = PlaceOf(tensor);
  if (!place || !place->dense) return;
  MutexLock lock(&mu_);
  Region* const region = regions_.Find(tensor.storage_id);
  if (region != nullptr && region->intact && region->begin == place->begin &&
      region->count == place->count) {
    region->copy = copy;
  }
}

SeenValues::Seen SeenValues::Find(const graphdbg_tensor& view) const {
  const std::optional<Place> place = PlaceOf(view);
  if (!place) return {};
  MutexLock lock(&mu_);
  const Region* const region = regions_.Find(view.storage_id);
  const DType dtype = DTypeFromNumber(view.dtype);
  if (region == nullptr || !region->intact || region->dtype != dtype) return {};
  const char* const end =
      region->begin + region->count * static_cast<int64_t>(ItemSize(dtype));
  if (place->begin < region->begin || place->end > end) return {};
  Seen seen{region->scan, region->copy.lock()};
  // A sketch of many elements does not apply to some of them.
  if (!place->dense || place->count != region->count) seen.scan.sketch.reset();
  return seen;
}

void SeenValues::Clear() {
  MutexLock lock(&mu_);
  any_ = false;
  regions_.Clear();
}

}  // namespace graphdbg::agent
