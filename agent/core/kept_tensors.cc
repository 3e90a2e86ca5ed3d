#include "agent/core/kept_tensors.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace graphdbg::agent {
namespace {

// The number of entries from which on dropped ones are removed.
constexpr size_t kSweepAt = 4096;

uint64_t KeyOf(uint32_t node, uint32_t slot) {
  return uint64_t{node} << 32 | slot;
}

uint32_t NodeOf(uint64_t key) { return static_cast<uint32_t>(key >> 32); }

// The memory that the view keeps alive. Elements at the same address, as in an
// expanded tensor, count once.
std::optional<int64_t> BytesOf(const graphdbg_tensor& tensor) {
  TensorView view = ViewOf(tensor);
  if (!view.byte_count() || view.strides == nullptr) return view.byte_count();
  int64_t bytes = static_cast<int64_t>(ItemSize(view.dtype));
  for (size_t d = 0; d < view.ndim; ++d) {
    if (view.strides[d] != 0 || view.shape[d] == 0) bytes *= view.shape[d];
  }
  return bytes;
}

}  // namespace

KeptTensor::KeptTensor(const Host* host, const graphdbg_tensor& tensor,
                       const char* framework_dtype, uint64_t step,
                       uint64_t writes)
    : host_(host), tensor_(tensor), step_(step), writes_(writes) {
  tensor_.framework_dtype = framework_dtype;
  if (tensor.ndim > 0) {
    dimensions_.assign(tensor.shape, tensor.shape + tensor.ndim);
    if (tensor.strides != nullptr) {
      dimensions_.insert(dimensions_.end(), tensor.strides,
                         tensor.strides + tensor.ndim);
      tensor_.strides = dimensions_.data() + tensor.ndim;
    }
    tensor_.shape = dimensions_.data();
  }
  host_->Retain(tensor_.owner);
}

void KeptTensors::Keep(uint32_t node, uint32_t slot,
                       const graphdbg_tensor& tensor, uint64_t step) {
  if (!host_->can_retain()) return;
  Dropped dropped;
  MutexLock lock(&mu_);
  KeepLocked(KeyOf(node, slot), tensor, step, &dropped);
}

void KeptTensors::KeepOutputs(uint32_t node, const TensorArray& tensors,
                              bool wrote, uint64_t step) {
  if (!host_->can_retain()) return;
  Dropped dropped;
  MutexLock lock(&mu_);
  for (uint32_t slot = 0; slot < tensors.size(); ++slot) {
    const graphdbg_tensor& tensor = tensors[slot];
    if (wrote) RecordWriteLocked(tensor.storage_id);
    KeepLocked(KeyOf(node, slot), tensor, step, &dropped);
  }
}

void KeptTensors::KeepLocked(uint64_t key, const graphdbg_tensor& tensor,
                             uint64_t step, Dropped* dropped) {
  if (tensor.owner == nullptr) return;
  if (tensor.ndim > 0 && tensor.shape == nullptr) return;
  const std::optional<int64_t> bytes = BytesOf(tensor);
  const int64_t budget = budget_bytes_ - reserved_bytes_;
  if (!bytes || *bytes > budget) return;
  uint32_t& index = index_.At(key);
  if (index < entries_.size() && entries_[index].key == key) {
    Remove(&entries_[index], dropped);
  }
  index = static_cast<uint32_t>(entries_.size());
  const uint64_t writes = Account(tensor.storage_id, *bytes);
  entries_.push_back(
      {key, tensor.storage_id, *bytes,
       std::make_shared<KeptTensor>(
           host_, tensor, Intern(tensor.framework_dtype), step, writes)});
  ++live_entries_;
  while (bytes_ > budget && live_entries_ > 1) {
    Remove(&entries_[oldest_], dropped);
    ++oldest_;
  }
  Sweep();
}

// A node that executes many times in one step leaves many dropped entries.
void KeptTensors::Sweep() {
  if (entries_.size() < kSweepAt || live_entries_ > entries_.size() / 2) return;
  Compact();
}

void KeptTensors::Compact() {
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                [](const Entry& e) { return !e.tensor; }),
                 entries_.end());
  oldest_ = 0;
  for (size_t i = 0; i < entries_.size(); ++i) {
    index_.At(entries_[i].key) = static_cast<uint32_t>(i);
  }
}

const KeptTensors::Entry* KeptTensors::FindEntry(uint64_t key) const {
  const uint32_t* const index = index_.Find(key);
  if (index == nullptr || *index >= entries_.size()) return nullptr;
  const Entry& entry = entries_[*index];
  return entry.key == key && entry.tensor != nullptr ? &entry : nullptr;
}

// A program uses a few dozen dtypes at most.
const char* KeptTensors::Intern(const char* framework_dtype) {
  if (framework_dtype == nullptr) return "";
  for (const std::string& name : dtype_names_) {
    if (std::strcmp(name.c_str(), framework_dtype) == 0) return name.c_str();
  }
  dtype_names_.emplace_back(framework_dtype);
  return dtype_names_.back().c_str();
}

uint64_t KeptTensors::Account(uint64_t storage_id, int64_t bytes) {
  if (storage_id == 0) {
    bytes_ += bytes;
    return 0;
  }
  Storage& storage = storages_.At(storage_id);
  // Writes since the storage was last followed went unseen, so the count
  // continues from a number that was not used before.
  if (storage.tensors++ == 0) storage.writes = ++times_followed_ << 32;
  bytes_ += std::max<int64_t>(bytes - storage.bytes, 0);
  storage.bytes = std::max(storage.bytes, bytes);
  return storage.writes;
}

void KeptTensors::Remove(Entry* entry, Dropped* dropped) {
  if (entry->tensor == nullptr) return;
  --live_entries_;
  dropped->push_back(std::move(entry->tensor));
  entry->tensor = nullptr;
  if (entry->storage_id == 0) {
    bytes_ -= entry->bytes;
    return;
  }
  Storage& storage = storages_.At(entry->storage_id);
  if (--storage.tensors == 0) bytes_ -= std::exchange(storage.bytes, 0);
}

bool KeptTensors::Has(uint32_t node, uint32_t slot) const {
  MutexLock lock(&mu_);
  return FindEntry(KeyOf(node, slot)) != nullptr;
}

void KeptTensors::RecordWrite(uint64_t storage_id) {
  MutexLock lock(&mu_);
  RecordWriteLocked(storage_id);
}

void KeptTensors::RecordWriteLocked(uint64_t storage_id) {
  if (Storage* storage = storages_.Find(storage_id)) ++storage->writes;
}

std::shared_ptr<const KeptTensor> KeptTensors::Find(uint32_t node,
                                                    uint32_t slot) const {
  MutexLock lock(&mu_);
  const Entry* entry = FindEntry(KeyOf(node, slot));
  return entry == nullptr ? nullptr : entry->tensor;
}

bool KeptTensors::Overwritten(const KeptTensor& tensor) const {
  MutexLock lock(&mu_);
  if (tensor.storage_id() == 0) return false;
  const Storage* const storage = storages_.Find(tensor.storage_id());
  return storage == nullptr || storage->tensors == 0 ||
         storage->writes != tensor.writes();
}

std::vector<KeptTensors::Kept> KeptTensors::All() const {
  MutexLock lock(&mu_);
  std::vector<Kept> all;
  all.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    if (entry.tensor == nullptr) continue;
    all.push_back(
        {NodeOf(entry.key), static_cast<uint32_t>(entry.key), entry.tensor});
  }
  return all;
}

bool KeptTensors::HasAnyOf(uint32_t node) const {
  MutexLock lock(&mu_);
  return std::any_of(
      entries_.begin(), entries_.end(), [node](const Entry& entry) {
        return entry.tensor != nullptr && NodeOf(entry.key) == node;
      });
}

int64_t KeptTensors::bytes() const {
  MutexLock lock(&mu_);
  return bytes_;
}

void KeptTensors::Clear() {
  std::vector<Entry> dropped;
  {
    MutexLock lock(&mu_);
    dropped.swap(spare_);
    dropped.swap(entries_);
    oldest_ = live_entries_ = 0;
    index_.Clear();
    storages_.Clear();
    bytes_ = 0;
  }
  // Without the lock, because releasing runs the host's code.
  dropped.clear();
  MutexLock lock(&mu_);
  spare_.swap(dropped);
}

void KeptTensors::ClearExcept(const std::set<uint32_t>& nodes) {
  Dropped dropped;
  MutexLock lock(&mu_);
  for (Entry& entry : entries_) {
    if (nodes.count(NodeOf(entry.key)) == 0) Remove(&entry, &dropped);
  }
  Compact();
}

}  // namespace graphdbg::agent
