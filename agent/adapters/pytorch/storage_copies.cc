#include "agent/adapters/pytorch/storage_copies.h"

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstring>
#include <utility>

namespace graphdbg::pytorch {
namespace {

StorageRef NewCpuStorage(size_t bytes) {
  c10::Allocator* const allocator = c10::GetAllocator(c10::DeviceType::CPU);
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes, allocator->allocate(bytes),
      allocator, /*resizable=*/false);
}

// A copy that the device makes, in the order of its stream.
StorageRef CopyOnDevice(c10::StorageImpl* storage) {
  // Modes that are written in Python must not see this.
  const c10::impl::ExcludeDispatchKeyGuard without(c10::DispatchKeySet(
      {c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot}));
  const auto bytes = static_cast<int64_t>(storage->nbytes());
  at::Tensor all = at::empty(
      {0}, at::TensorOptions().dtype(at::kByte).device(storage->device()));
  all.set_(c10::Storage(StorageRef::reclaim_copy(storage)), 0, {bytes}, {1});
  return StorageRef::reclaim_copy(
      all.clone().unsafeGetTensorImpl()->storage().unsafeGetStorageImpl());
}

}  // namespace

StorageRef SpareStorages::CopyOf(c10::StorageImpl* storage) {
  if (!storage->device().is_cpu()) return CopyOnDevice(storage);
  const size_t bytes = storage->nbytes();
  OfSize& spare = spare_[bytes];
  spare.used = true;
  StorageRef copy;
  if (spare.copies.empty()) {
    copy = NewCpuStorage(bytes);
  } else {
    copy = std::move(spare.copies.back());
    spare.copies.pop_back();
  }
  if (bytes > 0) {
    std::memcpy(const_cast<void*>(std::as_const(*copy).data()),
                std::as_const(*storage).data(), bytes);
  }
  return copy;
}

void SpareStorages::GiveBack(StorageRef copy) {
  if (!copy->device().is_cpu() || copy.use_count() != 1) return;
  spare_[copy->nbytes()].copies.push_back(std::move(copy));
}

void SpareStorages::ReleaseUnused() {
  for (auto size = spare_.begin(); size != spare_.end();) {
    OfSize& spare = size->second;
    spare.copies.clear();
    if (std::exchange(spare.used, false)) {
      ++size;
    } else {
      size = spare_.erase(size);
    }
  }
}

}  // namespace graphdbg::pytorch
