// The functions of Recorder that save values.
#include <algorithm>
#include <limits>
#include <utility>

#include "agent/core/recorder.h"
#include "agent/tensor/slice.h"

namespace graphdbg::agent {
namespace {

// In the first step, values are copied for collections that are decided at its
// end, up to this size.
constexpr uint64_t kMaxProvisionalBytes = uint64_t{256} << 20;

int CountBits(CollectionMask mask) { return __builtin_popcountll(mask); }

CollectionMask LowestBit(CollectionMask mask) { return mask & -mask; }

// Appends the values in row-major order.
void CopyValues(const TensorView& view, std::string* to) {
  if (view.row_major()) {
    to->append(static_cast<const char*>(view.data),
               static_cast<size_t>(*view.byte_count()));
    return;
  }
  SliceReader reader(view, WholeSlice({view.shape, view.shape + view.ndim}));
  if (!reader.done()) reader.Read(std::numeric_limits<int64_t>::max(), to);
}

// The same, from wherever they are. False if the device fails.
bool ReadValues(Devices* devices, const graphdbg_tensor& tensor,
                std::string* to) {
  const TensorView view = ViewOf(tensor);
  if (Readable(tensor)) {
    CopyValues(view, to);
    return true;
  }
  runtime::Accelerator* const device = devices->DeviceOf(tensor);
  return device != nullptr && device->SynchronizeAll().ok() &&
         device
             ->Read(view, WholeSlice({view.shape, view.shape + view.ndim}), 0,
                    view.element_count().value_or(0), to)
             .ok();
}

}  // namespace

bool Recorder::Saves(CollectionMask selected) const {
  if (everything_ && settings_.hit_tensors) return true;
  // With only the newest records kept, nothing is written except after a hit
  // or on request.
  const CollectionMask saved = selected & tensors_;
  return (settings_.keep_all ? saved : saved & boosted_) != 0;
}

double Recorder::ShareOf(CollectionMask selected) const {
  constexpr double kLeast = 0.5;
  // Waiting makes room for all.
  if (settings_.block) return 1;
  const CollectionMask first = LowestBit(selected & tensors_);
  if (first == 0) return kLeast;
  const int before = CountBits(tensors_ & (first - 1));
  return 1 - kLeast * before / CountBits(tensors_);
}

void Recorder::SaveValues(const graphdbg_tensor& tensor, double grad_scale,
                          CollectionMask selected, CollectionMask undecided,
                          const RecordKey& key) {
  if ((!Saves(selected) && !Saves(undecided)) || !HasValues(tensor)) return;
  const TensorView view = ViewOf(tensor);
  if (ItemSize(view.dtype) == 0 || !view.byte_count()) return;
  if (Readable(tensor)) {
    SaveHostValues(view, grad_scale, selected, undecided, key, /*waits=*/true);
  } else {
    SaveFromDevice(tensor, grad_scale, selected, undecided, key);
  }
}

void Recorder::SaveHostValues(const TensorView& view, double grad_scale,
                              CollectionMask selected, CollectionMask undecided,
                              const RecordKey& key, bool waits) {
  if (!Saves(selected)) return SaveLater(view, grad_scale, undecided, key);
  const std::string& name =
      *parts_.nodes->Facts(key.node)->name.load(std::memory_order_relaxed);
  const TensorToSave tensor = {view, name, grad_scale, ShareOf(selected)};
  if (waits) {
    SaveOrWait(key, tensor);
  } else if (recording_->SaveTensor(key, tensor)) {
    ++records_;
  }
}

void Recorder::SaveFromDevice(const graphdbg_tensor& tensor, double grad_scale,
                              CollectionMask selected, CollectionMask undecided,
                              const RecordKey& key) {
  auto copy = device_copies_.Keep(key.node, key.slot, tensor, key.step);
  if (copy == nullptr) return;
  MutexLock lock(&device_values_mu_);
  device_values_.push_back(
      {key, grad_scale, selected, undecided, std::move(copy)});
}

void Recorder::SaveDeviceValues(bool waits) {
  std::vector<DeviceValue> values;
  {
    MutexLock lock(&device_values_mu_);
    values.swap(device_values_);
  }
  if (values.empty()) return;
  std::string bytes;
  for (const DeviceValue& each : values) {
    const graphdbg_tensor copy = each.copy->tensor();
    bytes.clear();
    if (!ReadValues(parts_.devices, copy, &bytes)) continue;
    const TensorView view = {DTypeFromNumber(copy.dtype), bytes.data(),
                             copy.ndim, copy.shape, nullptr};
    SaveHostValues(view, each.grad_scale, each.selected, each.undecided,
                   each.key, waits);
  }
  device_copies_.Clear();
}

void Recorder::SaveOrWait(const RecordKey& key, const TensorToSave& tensor) {
  if (settings_.block) {
    const auto bytes = static_cast<uint64_t>(*tensor.view.byte_count());
    WaitUntil([&] { return recording_->HasRoomForTensor(bytes); });
    WaitUntil([&] { return recording_->HasRoom(); });
  }
  if (recording_->SaveTensor(key, tensor)) ++records_;
}

void Recorder::SaveLater(const TensorView& view, double grad_scale,
                         CollectionMask due, const RecordKey& key) {
  const auto bytes = static_cast<uint64_t>(*view.byte_count());
  MutexLock lock(&provisional_mu_);
  if (provisional_bytes_ + bytes > kMaxProvisionalBytes) return;
  provisional_bytes_ += bytes;
  ProvisionalValues& values = provisional_values_.emplace_back();
  values.key = key;
  values.due = due;
  values.grad_scale = grad_scale;
  values.shape.assign(view.shape, view.shape + view.ndim);
  CopyValues(view, &values.bytes);
}

void Recorder::SaveProvisional() {
  std::vector<ProvisionalValues> all;
  {
    MutexLock lock(&provisional_mu_);
    all.swap(provisional_values_);
    provisional_bytes_ = 0;
  }
  for (const ProvisionalValues& each : all) {
    const CollectionMask selected =
        collections_.Of(each.key.node, each.key.slot) & each.due;
    if (!Saves(selected)) continue;
    const TensorView view = {DTypeFromNumber(each.key.dtype), each.bytes.data(),
                             each.shape.size(), each.shape.data(), nullptr};
    const std::string& name = *parts_.nodes->Facts(each.key.node)->name.load();
    SaveOrWait(each.key, {view, name, each.grad_scale, ShareOf(selected)});
  }
}

}  // namespace graphdbg::agent
