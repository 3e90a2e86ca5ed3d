#include "agent/adapters/pytorch/bound_tensors.h"

#include <algorithm>
#include <utility>

namespace graphdbg::pytorch {
namespace {

// host.resolve's buffers hold this many numbers.
constexpr uint32_t kMaxDimensions = 64;

}  // namespace

bool BoundTensors::Add(c10::TensorImpl* tensor, uint32_t scope) {
  const std::lock_guard<std::mutex> lock(mu_);
  Binding*& binding = by_tensor_[tensor];
  // An entry for this address is of this tensor: the weak reference keeps the
  // address from being used again.
  if (binding != nullptr) return false;
  using Weak =
      c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
  bindings_.push_back(std::make_unique<Binding>(
      Binding{0, scope, Weak::reclaim_copy(tensor), nullptr}));
  binding = bindings_.back().get();
  return true;
}

BoundTensors::Binding* BoundTensors::SetNode(c10::TensorImpl* tensor,
                                             uint32_t node) {
  const std::lock_guard<std::mutex> lock(mu_);
  Binding* binding = by_tensor_[tensor];
  binding->node = node;
  return binding;
}

const BoundTensors::Binding* BoundTensors::Find(
    const c10::TensorImpl* tensor) const {
  const std::lock_guard<std::mutex> lock(mu_);
  const auto found = by_tensor_.find(tensor);
  return found == by_tensor_.end() ? nullptr : found->second;
}

void BoundTensors::Refresh(Producers* producers) {
  const std::lock_guard<std::mutex> lock(mu_);
  for (const auto& binding : bindings_) {
    auto strong = binding->tensor.lock();
    if (!strong) continue;
    // Not wrap_tensor_impl, which refuses tensors whose memory was given back.
    const at::TensorBase tensor(std::move(strong));
    c10::StorageImpl* storage = PlainStorage(tensor);
    // `producers` holds on to the storage's address, so it is not another's.
    if (storage == nullptr || storage == binding->storage) continue;
    binding->storage = storage;
    producers->Keep(storage, ViewSignature(tensor), {binding->node, 0});
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
  const std::lock_guard<std::mutex> lock(mu_);
  resolved_.push_back(StorageRef::reclaim_copy(storage));
  any_resolved_.store(true);
  return 0;
}

void BoundTensors::ReleaseResolved() {
  if (!any_resolved_.load(std::memory_order_relaxed)) return;
  std::vector<StorageRef> released;
  const std::lock_guard<std::mutex> lock(mu_);
  released.swap(resolved_);
  any_resolved_.store(false);
}

}  // namespace graphdbg::pytorch
