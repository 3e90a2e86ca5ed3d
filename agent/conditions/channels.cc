#include "agent/conditions/channels.h"

namespace graphdbg::conditions {

Channels::Slice::Slice(const TensorView& from, size_t axis)
    : tensor(from), ndim(0) {
  int64_t row_major = 1;
  std::array<int64_t, kMaxDimensions> all_strides;
  for (size_t d = from.ndim; d-- > 0;) {
    all_strides[d] = from.strides != nullptr ? from.strides[d] : row_major;
    row_major *= from.shape[d];
  }
  for (size_t d = 0; d < from.ndim; ++d) {
    if (d == axis) continue;
    shape[ndim] = from.shape[d];
    strides[ndim++] = all_strides[d];
  }
  distance = all_strides[axis] * static_cast<int64_t>(ItemSize(from.dtype));
}

TensorView Channels::Slice::At(int64_t channel) const {
  TensorView view = tensor;
  view.data = static_cast<const char*>(tensor.data) + channel * distance;
  view.ndim = ndim;
  view.shape = shape.data();
  view.strides = strides.data();
  return view;
}

std::optional<size_t> Channels::Find(const TensorMeasurements& whole,
                                     int axis) {
  const TensorView* const now = whole.now();
  if (now == nullptr) return std::nullopt;
  const auto ndim = static_cast<int>(now->ndim);
  if (axis < -ndim || axis >= ndim) return std::nullopt;
  if (now->element_count().value_or(0) == 0) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + ndim : axis);
}

Channels::Channels(const TensorMeasurements& whole, size_t axis)
    : whole_(&whole),
      count_(whole.now()->shape[axis]),
      now_(*whole.now(), axis) {
  const TensorView* const previous = whole.previous();
  if (previous != nullptr && previous->ndim == whole.now()->ndim &&
      previous->shape[axis] == count_) {
    previous_.emplace(*previous, axis);
  }
}

TensorMeasurements* Channels::Measure(int64_t channel, const Needs& needs) {
  now_view_ = now_.At(channel);
  if (previous_) previous_view_ = previous_->At(channel);
  measurements_.emplace(&now_view_, previous_ ? &previous_view_ : nullptr,
                        whole_->step());
  measurements_->set_backend(whole_->backend());
  measurements_->set_scale(whole_->scale());
  return measurements_->Measure(needs) ? &*measurements_ : nullptr;
}

}  // namespace graphdbg::conditions
