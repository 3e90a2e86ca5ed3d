#include "agent/core/kept_tensors.h"

#include <algorithm>

#include "agent/core/execution.h"

namespace graphdbg::agent {
namespace {

uint64_t KeyOf(uint32_t node, uint32_t slot) {
  return uint64_t{node} << 32 | slot;
}

}  // namespace

KeptTensor::KeptTensor(const Host* host, const graphdbg_tensor& tensor,
                       uint64_t step, uint64_t writes)
    : host_(host),
      tensor_(tensor),
      framework_dtype_(tensor.framework_dtype ? tensor.framework_dtype : ""),
      step_(step),
      writes_(writes) {
  if (tensor.ndim > 0) {
    shape_.assign(tensor.shape, tensor.shape + tensor.ndim);
    if (tensor.strides != nullptr) {
      strides_.assign(tensor.strides, tensor.strides + tensor.ndim);
    }
  }
  host_->Retain(tensor_.owner);
}

KeptTensor::~KeptTensor() { host_->Release(tensor_.owner); }

graphdbg_tensor KeptTensor::tensor() const {
  graphdbg_tensor tensor = tensor_;
  tensor.shape = shape_.data();
  tensor.strides = strides_.empty() ? nullptr : strides_.data();
  tensor.framework_dtype = framework_dtype_.c_str();
  return tensor;
}

void KeptTensors::Keep(uint32_t node, uint32_t slot,
                       const graphdbg_tensor& tensor, uint64_t step) {
  if (tensor.owner == nullptr || !host_->can_retain()) return;
  if (tensor.ndim > 0 && tensor.shape == nullptr) return;
  const std::optional<int64_t> bytes = ViewOf(tensor).byte_count();
  if (!bytes || *bytes > budget_bytes_) return;
  Entries dropped;
  {
    std::lock_guard<std::mutex> lock(mu_);
    const uint64_t key = KeyOf(node, slot);
    if (auto it = index_.find(key); it != index_.end()) {
      Remove(it->second, &dropped);
    }
    const auto storage = storages_.find(tensor.storage_id);
    const uint64_t writes =
        storage == storages_.end() ? 0 : storage->second.writes;
    entries_.push_back(
        {key, tensor.storage_id, *bytes,
         std::make_shared<KeptTensor>(host_, tensor, step, writes)});
    index_[key] = std::prev(entries_.end());
    Account(entries_.back());
    while (bytes_ > budget_bytes_ && entries_.size() > 1) {
      Remove(entries_.begin(), &dropped);
    }
  }
}

void KeptTensors::Account(const Entry& entry) {
  if (entry.storage_id == 0) {
    bytes_ += entry.bytes;
    return;
  }
  Storage& storage = storages_[entry.storage_id];
  ++storage.tensors;
  bytes_ += std::max<int64_t>(entry.bytes - storage.bytes, 0);
  storage.bytes = std::max(storage.bytes, entry.bytes);
}

void KeptTensors::Remove(Entries::iterator it, Entries* dropped) {
  index_.erase(it->key);
  if (it->storage_id == 0) {
    bytes_ -= it->bytes;
  } else {
    auto storage = storages_.find(it->storage_id);
    if (--storage->second.tensors == 0) {
      bytes_ -= storage->second.bytes;
      storages_.erase(storage);
    }
  }
  dropped->splice(dropped->end(), entries_, it);
}

bool KeptTensors::Has(uint32_t node, uint32_t slot) const {
  std::lock_guard<std::mutex> lock(mu_);
  return index_.count(KeyOf(node, slot)) > 0;
}

void KeptTensors::NoteWrite(uint64_t storage_id) {
  std::lock_guard<std::mutex> lock(mu_);
  auto it = storages_.find(storage_id);
  if (it != storages_.end()) ++it->second.writes;
}

std::shared_ptr<const KeptTensor> KeptTensors::Find(uint32_t node,
                                                    uint32_t slot) const {
  std::lock_guard<std::mutex> lock(mu_);
  auto it = index_.find(KeyOf(node, slot));
  return it == index_.end() ? nullptr : it->second->tensor;
}

bool KeptTensors::Overwritten(const KeptTensor& tensor) const {
  std::lock_guard<std::mutex> lock(mu_);
  if (tensor.storage_id() == 0) return false;
  auto it = storages_.find(tensor.storage_id());
  return it == storages_.end() || it->second.writes != tensor.writes();
}

int64_t KeptTensors::bytes() const {
  std::lock_guard<std::mutex> lock(mu_);
  return bytes_;
}

void KeptTensors::Clear() {
  Entries dropped;
  {
    std::lock_guard<std::mutex> lock(mu_);
    dropped.swap(entries_);
    index_.clear();
    storages_.clear();
    bytes_ = 0;
  }
}

}  // namespace graphdbg::agent
