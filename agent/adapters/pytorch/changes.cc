#include "agent/adapters/pytorch/changes.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "agent/adapters/pytorch/adapter.h"

namespace graphdbg::pytorch {
namespace {

// Has the ops of a scope run without autograd, without modes written in Python,
// and without being followed.
class UnnoticedOps {
 public:
  UnnoticedOps() : depth_(Adapter::Get().Enter(ContextKind::kIgnored, 0)) {}
  UnnoticedOps(const UnnoticedOps&) = delete;
  UnnoticedOps& operator=(const UnnoticedOps&) = delete;
  ~UnnoticedOps() { CurrentThread().contexts.PopTo(depth_); }

 private:
  const size_t depth_;
  const c10::AutoGradMode without_grad_{false};
  const c10::impl::ExcludeDispatchKeyGuard without_modes_{c10::DispatchKeySet(
      {c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot})};
};

c10::ScalarType ScalarTypeOf(const graphdbg_tensor& view) {
  for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions); ++i) {
    const auto type = static_cast<c10::ScalarType>(i);
    if (type == c10::ScalarType::Undefined || c10::isQIntType(type)) continue;
    if (DtypeOf(type).dtype == view.dtype) return type;
  }
  throw std::runtime_error("values of this type cannot be written");
}

c10::Device DeviceOfView(const graphdbg_tensor& view) {
  for (const c10::DeviceType type :
       {c10::DeviceType::CPU, c10::DeviceType::CUDA,
        c10::DeviceType::PrivateUse1}) {
    if (DeviceOf(type) != view.device) continue;
    return type == c10::DeviceType::CPU
               ? c10::Device(type)
               : c10::Device(type,
                             static_cast<c10::DeviceIndex>(view.device_id));
  }
  throw std::runtime_error("memory of this device cannot be written");
}

at::Tensor AllBytes(c10::StorageImpl* storage) {
  at::Tensor all = at::empty(
      {0}, at::TensorOptions().dtype(at::kByte).device(storage->device()));
  const auto bytes = static_cast<int64_t>(storage->nbytes());
  return all.set_(c10::Storage(StorageRef::reclaim_copy(storage)), 0, {bytes},
                  {1});
}

}  // namespace

void AssignValues(const graphdbg_tensor& view, const double* values,
                  size_t count) {
  const UnnoticedOps unnoticed;
  for (uint32_t i = 0; i < view.ndim; ++i) {
    if (view.strides[i] < 0) {
      throw std::runtime_error("the slice must not be reversed");
    }
  }
  const c10::ScalarType type = ScalarTypeOf(view);
  const c10::IntArrayRef shape(view.shape, view.ndim);
  at::Tensor target =
      at::from_blob(const_cast<void*>(view.data), shape,
                    c10::IntArrayRef(view.strides, view.ndim),
                    at::TensorOptions().dtype(type).device(DeviceOfView(view)));
  const at::Tensor given =
      at::from_blob(const_cast<double*>(values), {static_cast<int64_t>(count)},
                    at::TensorOptions().dtype(at::kDouble))
          .to(type);
  // Waits until the device has done it.
  target.copy_(count == 1 ? given.reshape({}).expand(shape)
                          : given.reshape(shape));
}

size_t RestoreStep(const Tape::Content& content) {
  if (content.mode != GRAPHDBG_TAPE_WHOLE_STEP || content.over_budget()) {
    throw std::runtime_error(
        "there are no copies of what the step has overwritten: they are made "
        "while the configuration has \"capture\": {\"tape\": \"whole_step\"} "
        "and a step stays below \"tape_budget\"");
  }
  const UnnoticedOps unnoticed;
  std::unordered_map<c10::StorageImpl*, StorageRef> alive;
  for (const Tape::View& view : content.views) {
    if (view.address() == nullptr) continue;
    StorageRef& storage = alive[view.address()];
    if (storage == nullptr) storage = view.Lock();
  }
  std::unordered_set<c10::StorageImpl*> restored;
  // The first copy is the oldest.
  for (const Tape::Copy& copy : content.copies) {
    const StorageRef& storage = alive[copy.storage];
    if (storage == nullptr || storage->nbytes() != copy.copy->nbytes() ||
        !restored.insert(copy.storage).second) {
      continue;
    }
    AllBytes(storage.get()).copy_(AllBytes(copy.copy.get()));
  }
  return restored.size();
}

}  // namespace graphdbg::pytorch
