#include "agent/adapters/pytorch/bound_tensors.h"

#include <algorithm>
#include <utility>

namespace graphdbg::pytorch {
namespace {

// Size of the buffers passed to host.resolve.
constexpr uint32_t kMaxDimensions = 64;

}  // namespace

BoundTensors::Binding* BoundTensors::Create(uint32_t node, uint32_t scope,
                                            bool changes) {
  MutexLock lock(&mu_);
  bindings_.push_back(std::make_unique<Binding>());
  Binding* const binding = bindings_.back().get();
  binding->node = node;
  binding->scope = scope;
  binding->changes = changes;
  return binding;
}

void BoundTensors::Hold(Binding* binding, c10::TensorImpl* tensor) {
  MutexLock lock(&mu_);
  const c10::TensorImpl* const before = binding->tensor._unsafe_get_target();
  if (before == tensor) return;
  const auto known = binding_by_tensor_.find(before);
  if (known != binding_by_tensor_.end() && known->second == binding) {
    binding_by_tensor_.erase(known);
  }
  // The weak reference prevents the address from being reused by another
  // tensor.
  binding_by_tensor_[tensor] = binding;
  binding->tensor = WeakTensor::reclaim_copy(tensor);
}

BoundTensors::Binding* BoundTensors::Release(const c10::TensorImpl* tensor) {
  MutexLock lock(&mu_);
  const auto found = binding_by_tensor_.find(tensor);
  if (found == binding_by_tensor_.end()) return nullptr;
  Binding* const binding = found->second;
  binding_by_tensor_.erase(found);
  binding->tensor.reset();
  return binding;
}

const BoundTensors::Binding* BoundTensors::Find(
    const c10::TensorImpl* tensor) const {
  MutexLock lock(&mu_);
  const auto found = binding_by_tensor_.find(tensor);
  return found == binding_by_tensor_.end() ? nullptr : found->second;
}

void BoundTensors::Clear() {
  ReleaseResolved();
  MutexLock lock(&mu_);
  binding_by_tensor_.clear();
  if (bindings_.empty()) return;
  for (auto& binding : bindings_) binding->tensor.reset();
  cleared_ = std::exchange(bindings_, {});
}

void BoundTensors::Refresh(Producers* producers) {
  MutexLock lock(&mu_);
  for (const auto& binding : bindings_) {
    if (binding->changes) continue;
    auto strong = binding->tensor.lock();
    if (!strong) continue;
    // wrap_tensor_impl would reject tensors whose memory was released.
    const at::TensorBase tensor(std::move(strong));
    c10::StorageImpl* storage = PlainStorage(tensor);
    // `producers` prevents the address from being reused by another storage.
    if (storage == nullptr || storage == binding->storage) continue;
    binding->storage = storage;
    producers->RecordPersistent(storage, ViewSignature(tensor),
                                {binding->node, 0});
  }
}

int BoundTensors::Resolve(void* handle, graphdbg_tensor* out, int64_t* shape,
                          int64_t* strides) {
  auto strong = static_cast<Binding*>(handle)->tensor.lock();
  if (!strong) return 1;
  const at::TensorBase tensor(std::move(strong));
  c10::StorageImpl* storage = PlainStorage(tensor);
  if (storage == nullptr || tensor.dim() > kMaxDimensions) return 1;
  DescribeTensor(tensor, storage, out);
  std::copy_n(out->shape, out->ndim, shape);
  std::copy_n(out->strides, out->ndim, strides);
  out->shape = shape;
  out->strides = strides;
  MutexLock lock(&mu_);
  resolved_.push_back(StorageRef::reclaim_copy(storage));
  any_resolved_.store(true);
  return 0;
}

void BoundTensors::ReleaseResolved() {
  if (!any_resolved_.load(std::memory_order_relaxed)) return;
  std::vector<StorageRef> released;
  MutexLock lock(&mu_);
  released.swap(resolved_);
  any_resolved_.store(false);
}

}  // namespace graphdbg::pytorch
