// The functions of Recorder that compute what is recorded besides statistics.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "agent/core/recorder.h"
#include "agent/kernels/cpu/pairs.h"
#include "agent/tensor/complex_parts.h"
#include "proto/runs/digest.h"

namespace graphdbg::agent {
namespace {

// Absent if the tensor is not in host memory.
std::optional<uint64_t> DigestOf(const graphdbg_tensor& tensor) {
  const size_t item = ItemSize(DTypeFromNumber(tensor.dtype));
  if (tensor.device != GRAPHDBG_CPU || item == 0) return std::nullopt;
  // The last dimensions, up to `outer`, are one row of contiguous elements.
  int64_t row = 1;
  uint32_t outer = tensor.ndim;
  while (outer > 0 &&
         (tensor.strides == nullptr || tensor.shape[outer - 1] == 1 ||
          tensor.strides[outer - 1] == row)) {
    row *= tensor.shape[--outer];
  }
  int64_t rows = 1;
  for (uint32_t i = 0; i < outer; ++i) rows *= tensor.shape[i];
  std::vector<int64_t> index(outer);
  int64_t offset = 0;
  uint64_t digest = 0;
  for (int64_t at = 0; at < rows; ++at) {
    digest += runs::Digest(static_cast<const char*>(tensor.data) +
                               offset * static_cast<int64_t>(item),
                           static_cast<uint64_t>(row), item,
                           static_cast<uint64_t>(at * row));
    // The next row: the last of the outer indices counts first.
    for (uint32_t i = outer; i-- > 0;) {
      offset += tensor.strides[i];
      if (++index[i] < tensor.shape[i]) break;
      offset -= tensor.shape[i] * tensor.strides[i];
      index[i] = 0;
    }
  }
  return digest;
}

bool CompareAll(const TensorView& now, const TensorView& before,
                const StatisticsBackend* backend, RecordedChange* change) {
  if (now.dtype != before.dtype || now.ndim != before.ndim ||
      !std::equal(now.shape, now.shape + now.ndim, before.shape)) {
    return false;
  }
  ComplexParts now_parts;
  ComplexParts before_parts;
  const bool complex = ComplexParts::IsApplicable(now);
  const TensorView a = complex ? now_parts.AsReal(now) : now;
  const TensorView b = complex ? before_parts.AsReal(before) : before;
  const auto changed = backend != nullptr ? backend->CountChanged(a, b, {})
                                          : cpu::CountChanged(a, b, {});
  if (!changed) return false;
  change->changed_count = *changed;
  return backend != nullptr ? backend->ComparePair(a, b, &change->pair)
                            : cpu::ComparePair(a, b, &change->pair);
}

// The number of elements greater than `from` and less than `to`.
std::optional<uint64_t> CountBetween(const TensorView& view,
                                     const StatisticsBackend* backend,
                                     double from, double to) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double first = std::nextafter(from, kInfinity);
  const double last = std::nextafter(to, -kInfinity);
  return backend != nullptr ? backend->CountInRange(view, first, last)
                            : cpu::CountInRange(view, first, last);
}

// Absent if the tensor has no such axis, or is no real one.
std::optional<RecordedUnits> CountUnits(const TensorView& view,
                                        const StatisticsBackend* backend,
                                        const UnitsSettings& settings) {
  const auto ndim = static_cast<int64_t>(view.ndim);
  const int64_t axis = settings.axis < 0 ? settings.axis + ndim : settings.axis;
  const auto count = view.element_count();
  if (axis < 0 || axis >= ndim || !HasStatistics(view.dtype) || !count ||
      *count == 0) {
    return std::nullopt;
  }
  std::vector<int64_t> shape(view.shape, view.shape + ndim);
  std::vector<int64_t> strides(view.ndim);
  int64_t row_major = 1;
  for (int64_t d = ndim; d-- > 0;) {
    const auto i = static_cast<size_t>(d);
    strides[i] = view.strides == nullptr ? row_major : view.strides[i];
    row_major *= shape[i];
  }
  const auto at = static_cast<size_t>(axis);
  const int64_t units = shape[at];
  const int64_t step = strides[at] * static_cast<int64_t>(ItemSize(view.dtype));
  shape[at] = 1;
  RecordedUnits recorded = {static_cast<uint32_t>(axis),
                            static_cast<uint32_t>(units),
                            0,
                            settings.from,
                            settings.to,
                            settings.below};
  const auto of_unit = static_cast<double>(*count / units);
  for (int64_t unit = 0; unit < units; ++unit) {
    const TensorView part = {view.dtype,
                             static_cast<const char*>(view.data) + unit * step,
                             view.ndim, shape.data(), strides.data()};
    const auto active = CountBetween(part, backend, settings.from, settings.to);
    if (!active) return std::nullopt;
    const double percentage = 100 * static_cast<double>(*active) / of_unit;
    if (percentage < settings.below) ++recorded.idle_units;
  }
  return recorded;
}

bool CountAlike(const RecordedUnits& a, const RecordedUnits& b) {
  return a.axis == b.axis && a.from == b.from && a.to == b.to &&
         a.share == b.share;
}

// The slot under which the value is kept. Outputs have a separate one for each
// mode, because evaluations have other inputs.
uint32_t PlaceOf(const RecordKey& key, bool bound) {
  const auto mode = bound ? 0U : static_cast<uint32_t>(key.mode) + 1;
  return (key.slot & 0xffffU) | (mode << 16U);
}

}  // namespace

bool Recorder::NeedsValues(CollectionMask selected) const {
  return (selected & units_) != 0;
}

void Recorder::Reduce(const graphdbg_tensor& tensor,
                      const StatisticsBackend* backend, CollectionMask selected,
                      Measured* to) {
  if ((selected & digests_) != 0) {
    if (const auto digest = DigestOf(tensor)) {
      to->change.emplace().pair.count = to->statistics.count;
      to->change->digest = *digest;
    }
  }
  for (CollectionMask left = selected & units_; left != 0; left &= left - 1) {
    const auto at = static_cast<size_t>(__builtin_ctzll(left));
    const UnitsSettings& settings = *settings_.collections[at].units;
    const auto counted = CountUnits(ViewOf(tensor), backend, settings);
    if (!counted) continue;
    const CollectionMask bit = CollectionMask{1} << at;
    const auto known =
        std::find_if(to->units.begin(), to->units.end(),
                     [&counted](const CountedUnits& each) {
                       return CountAlike(each.recorded, *counted);
                     });
    if (known == to->units.end()) {
      to->units.push_back({*counted, bit});
    } else {
      known->collections |= bit;
    }
  }
}

bool Recorder::Compares(const graphdbg_tensor& tensor, CollectionMask selected,
                        const RecordKey& key, bool bound) const {
  return (selected & changes_) != 0 && HasValues(tensor) &&
         (bound || !previous_.Has(key.step, key.node, PlaceOf(key, bound)));
}

void Recorder::Compare(const graphdbg_tensor& tensor, const RecordKey& key,
                       bool bound, Measured* to) {
  const uint32_t place = PlaceOf(key, bound);
  const auto previous = previous_.Before(key.step, key.node, place);
  if (previous != nullptr) {
    const graphdbg_tensor before = previous->tensor();
    TensorAccess access(parts_.devices, tensor, /*running=*/true);
    access.SetPrevious(before);
    RecordedChange change = to->change.value_or(RecordedChange());
    if (access.ok() &&
        CompareAll(ViewOf(tensor), ViewOf(before), access.backend(), &change)) {
      change.previous_step = previous->step();
      to->change = change;
    }
  }
  previous_.Keep(key.node, place, tensor, key.step);
}

}  // namespace graphdbg::agent
