#include "agent/core/previous_values.h"

#include <limits>
#include <optional>

#include "agent/core/execution.h"
#include "agent/tensor/layout.h"
#include "agent/tensor/slice.h"

namespace graphdbg::agent {
namespace {

// Those of more tensors are allocated anew.
constexpr size_t kMaxSpares = 64;

// Explicit strides of a view.
std::vector<int64_t> StridesOf(const TensorView& view) {
  std::vector<int64_t> strides(view.ndim);
  int64_t row_major = 1;
  for (size_t d = view.ndim; d-- > 0;) {
    strides[d] = view.strides == nullptr ? row_major : view.strides[d];
    row_major *= view.shape[d];
  }
  return strides;
}

}  // namespace

int64_t PreviousValue::own_bytes() const {
  if (on_device_ != nullptr) return on_device_->bytes();
  return owns_bytes_ && bytes_ ? static_cast<int64_t>(bytes_->size()) : 0;
}

graphdbg_tensor PreviousValue::tensor() const {
  graphdbg_tensor tensor = {};
  tensor.struct_size = sizeof(tensor);
  tensor.dtype = dtype_;
  tensor.device = on_device_ != nullptr ? device_ : GRAPHDBG_CPU;
  tensor.device_id = on_device_ != nullptr ? device_id_ : 0;
  tensor.data =
      (on_device_ != nullptr ? static_cast<const char*>(on_device_->data())
                             : bytes_->data()) +
      offset_;
  tensor.ndim = static_cast<uint32_t>(shape_.size());
  tensor.shape = shape_.data();
  tensor.strides = strides_.empty() ? nullptr : strides_.data();
  tensor.framework_dtype = framework_dtype_.c_str();
  return tensor;
}

TensorView PreviousValue::view() const { return ViewOf(tensor()); }

void PreviousValue::Describe(const graphdbg_tensor& tensor, uint64_t step) {
  dtype_ = tensor.dtype;
  framework_dtype_ = tensor.framework_dtype ? tensor.framework_dtype : "";
  shape_.assign(tensor.shape, tensor.shape + tensor.ndim);
  step_ = step;
}

void PreviousValue::ShareBytes(const TensorView& view,
                               const PreviousValue& other) {
  bytes_ = other.bytes_;
  owns_bytes_ = false;
  source_ = other.source_;
  offset_ = static_cast<const char*>(view.data) - source_;
  strides_ = StridesOf(view);
}

void PreviousValue::CopyBytes(const TensorView& view, int64_t size) {
  strides_.clear();
  offset_ = 0;
  source_ = nullptr;
  if (bytes_ == nullptr) bytes_ = std::make_shared<std::string>();
  if (view.row_major()) {
    source_ = static_cast<const char*>(view.data);
    bytes_->assign(source_, static_cast<size_t>(size));
    return;
  }
  const std::optional<Layout> layout = Layout::Of(view);
  if (layout && layout->is_one_run()) {
    strides_.assign(view.strides, view.strides + view.ndim);
    offset_ = static_cast<const char*>(view.data) - layout->base;
    bytes_->assign(layout->base,
                   static_cast<size_t>(layout->count) * ItemSize(view.dtype));
    source_ = layout->base;
    return;
  }
  bytes_->clear();
  SliceReader reader(view, WholeSlice(shape_));
  if (!reader.done()) {
    reader.Read(std::numeric_limits<int64_t>::max(), bytes_.get());
  }
}

bool PreviousValue::CopyFromDevice(runtime::Accelerator* device,
                                   runtime::Stream stream,
                                   const graphdbg_tensor& tensor) {
  const TensorView view = ViewOf(tensor);
  strides_.clear();
  offset_ = 0;
  source_ = nullptr;
  auto copy = device->Copy(view, stream);
  if (copy.ok()) {
    device_ = tensor.device;
    device_id_ = tensor.device_id;
    on_device_ = *std::move(copy);
    const std::optional<Layout> layout = Layout::Of(view);
    if (layout && layout->is_one_run() && !view.row_major()) {
      strides_.assign(view.strides, view.strides + view.ndim);
      offset_ = static_cast<const char*>(view.data) - layout->base;
    }
    return true;
  }
  if (bytes_ == nullptr) bytes_ = std::make_shared<std::string>();
  bytes_->clear();
  return device->Synchronize(stream).ok() &&
         device
             ->Read(view, WholeSlice(shape_), 0,
                    view.element_count().value_or(0), bytes_.get())
             .ok();
}

std::shared_ptr<const PreviousValue> PreviousValues::Keep(
    uint32_t node, uint32_t slot, const graphdbg_tensor& tensor, uint64_t step,
    const std::shared_ptr<const PreviousValue>& same) {
  const TensorView view = ViewOf(tensor);
  const std::optional<int64_t> size = view.byte_count();
  if (!HasValues(tensor) || !size || ItemSize(view.dtype) == 0) return nullptr;
  runtime::Accelerator* device = nullptr;
  runtime::Stream stream = nullptr;
  if (!Readable(tensor)) {
    if (devices_ != nullptr) device = devices_->OnStream(tensor, &stream);
    if (device == nullptr) return nullptr;
  }
  const bool share = same != nullptr && same->source_ != nullptr;
  const int64_t room = share ? 0 : *size;
  const uint64_t key = KeyOf(node, slot);
  std::shared_ptr<PreviousValue> value;
  {
    MutexLock lock(&mu_);
    value = Take(key, room, step);
    if (share && value != nullptr) AddSpare(std::move(value->bytes_));
  }
  if (value == nullptr) return nullptr;
  // Without the lock, because this is most of the work.
  value->Describe(tensor, step);
  bool readable = true;
  if (device != nullptr) {
    readable = value->CopyFromDevice(device, stream, tensor);
  } else if (share) {
    value->ShareBytes(view, *same);
  } else {
    value->CopyBytes(view, *size);
  }
  MutexLock lock(&mu_);
  bytes_ -= room;
  if (!readable) return nullptr;
  bytes_ += value->own_bytes();
  Values& values = values_[key];
  values.insert(values.begin(), value);
  return value;
}

std::shared_ptr<PreviousValue> PreviousValues::Take(uint64_t key, int64_t bytes,
                                                    uint64_t step) {
  Values& values = values_[key];
  const bool repeated = !values.empty() && values.front()->step_ == step;
  std::shared_ptr<PreviousValue> value;
  if (repeated) {
    value = std::move(values.front());
    values.erase(values.begin());
  } else if (values.size() >= generations_) {
    value = std::move(values.back());
    values.pop_back();
  }
  if (value != nullptr) bytes_ -= value->own_bytes();
  if (bytes > budget_bytes_ - bytes_) DropSpares();
  if (bytes > budget_bytes_ - bytes_) return nullptr;
  bytes_ += bytes;
  // Readers of the old value keep it. Within its step, a value may be found by
  // its memory (SeenValues).
  const bool unused = value != nullptr && value.use_count() == 1;
  auto next = unused && !repeated && value->on_device_ == nullptr
                  ? value
                  : std::make_shared<PreviousValue>();
  if (unused) next->bytes_ = std::move(value->bytes_);
  // Those of a view that shares its bytes keep them.
  if (next->bytes_.use_count() != 1) next->bytes_ = TakeSpare(bytes);
  next->owns_bytes_ = true;
  return next;
}

PreviousValues::Bytes PreviousValues::TakeSpare(int64_t bytes) {
  const auto size = static_cast<size_t>(bytes);
  for (Bytes& spare : spares_) {
    if (spare->size() != size) continue;
    Bytes taken = std::move(spare);
    spare = std::move(spares_.back());
    spares_.pop_back();
    bytes_ -= bytes;
    return taken;
  }
  return nullptr;
}

void PreviousValues::AddSpare(Bytes bytes) {
  if (bytes.use_count() != 1 || spares_.size() >= kMaxSpares) return;
  bytes_ += static_cast<int64_t>(bytes->size());
  spares_.push_back(std::move(bytes));
}

void PreviousValues::DropSpares() {
  for (const Bytes& spare : spares_) {
    bytes_ -= static_cast<int64_t>(spare->size());
  }
  spares_.clear();
}

std::shared_ptr<const PreviousValue> PreviousValues::Before(
    uint64_t step, uint32_t node, uint32_t slot) const {
  MutexLock lock(&mu_);
  const auto it = values_.find(KeyOf(node, slot));
  if (it == values_.end()) return nullptr;
  for (const auto& value : it->second) {
    if (value->step_ < step) return value;
  }
  return nullptr;
}

bool PreviousValues::Has(uint64_t step, uint32_t node, uint32_t slot) const {
  MutexLock lock(&mu_);
  const auto it = values_.find(KeyOf(node, slot));
  return it != values_.end() && !it->second.empty() &&
         it->second.front()->step_ == step;
}

void PreviousValues::DropOlderThan(uint64_t step) {
  std::vector<Values> dropped;
  MutexLock lock(&mu_);
  for (auto it = values_.begin(); it != values_.end();) {
    const auto at = it++;
    if (!at->second.empty() && at->second.front()->step_ >= step) continue;
    for (const auto& value : at->second) bytes_ -= value->own_bytes();
    dropped.push_back(std::move(at->second));
    values_.erase(at);
  }
}

void PreviousValues::Clear() {
  DropOlderThan(std::numeric_limits<uint64_t>::max());
  MutexLock lock(&mu_);
  DropSpares();
}

int64_t PreviousValues::bytes() const {
  MutexLock lock(&mu_);
  return bytes_;
}

}  // namespace graphdbg::agent
