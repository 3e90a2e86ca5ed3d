#include "agent/core/kept_tensors.h"

#include <algorithm>
#include <utility>

namespace graphdbg::agent {
namespace {

// The number of entries from which on dropped ones are removed.
constexpr size_t kSweepAt = 4096;

// How many tensors are only listed, and of which size together: more would hold
// much memory that newer values have replaced.
constexpr size_t kMaxListed = 1024;
constexpr int64_t kMaxListedBytes = 16 << 20;

uint64_t KeyOf(uint32_t node, uint32_t slot) {
  return uint64_t{node} << 32 | slot;
}

uint32_t NodeOf(uint64_t key) { return static_cast<uint32_t>(key >> 32); }

// The memory that the view keeps alive. Elements at the same address, as in an
// expanded tensor, count once.
std::optional<int64_t> BytesOf(const graphdbg_tensor& tensor) {
  if (tensor.ndim > kMaxDimensions) return std::nullopt;
  auto bytes = static_cast<int64_t>(ItemSize(DTypeFromNumber(tensor.dtype)));
  for (uint32_t d = 0; d < tensor.ndim; ++d) {
    const int64_t size = tensor.shape[d];
    if (size < 0) return std::nullopt;
    const bool repeats =
        tensor.strides != nullptr && tensor.strides[d] == 0 && size > 0;
    if (!repeats && __builtin_mul_overflow(bytes, size, &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

}  // namespace

KeptTensor::KeptTensor(OwnerRef owner, const graphdbg_tensor& tensor,
                       uint64_t step, uint64_t writes)
    : owner_(std::move(owner)), tensor_(tensor), step_(step), writes_(writes) {
  if (tensor.ndim > 0) {
    dimensions_.assign(tensor.shape, tensor.shape + tensor.ndim);
    if (tensor.strides != nullptr) {
      dimensions_.insert(dimensions_.end(), tensor.strides,
                         tensor.strides + tensor.ndim);
      tensor_.strides = dimensions_.data() + tensor.ndim;
    }
    tensor_.shape = dimensions_.data();
  }
}

void KeptTensors::Keep(uint32_t node, uint32_t slot,
                       const graphdbg_tensor& tensor, uint64_t step) {
  if (!host_->can_retain()) return;
  Dropped dropped;
  MutexLock lock(&mu_);
  KeepLocked(KeyOf(node, slot), tensor, /*wrote=*/false, step, &dropped);
}

void KeptTensors::KeepOutputs(uint32_t node, const TensorArray& tensors,
                              bool wrote, uint64_t step) {
  if (!host_->can_retain()) return;
  Dropped dropped;
  MutexLock lock(&mu_);
  for (uint32_t slot = 0; slot < tensors.size(); ++slot) {
    KeepLocked(KeyOf(node, slot), tensors[slot], wrote, step, &dropped);
  }
}

void KeptTensors::KeepLocked(uint64_t key, const graphdbg_tensor& tensor,
                             bool wrote, uint64_t step, Dropped* dropped) {
  if (!List(key, tensor, wrote, step)) {
    EnterListed(dropped);
    if (wrote) RecordWriteLocked(tensor.storage_id);
    return;
  }
  if (bytes_ + listed_bytes_ > budget() || listed_bytes_ > kMaxListedBytes ||
      entries_.size() - listed_from_ > kMaxListed) {
    EnterListed(dropped);
  }
}

bool KeptTensors::List(uint64_t key, const graphdbg_tensor& tensor, bool wrote,
                       uint64_t step) {
  if (tensor.owner == nullptr) return false;
  if (tensor.ndim > 0 && tensor.shape == nullptr) return false;
  const std::optional<int64_t> bytes = BytesOf(tensor);
  if (!bytes || *bytes > budget()) return false;
  Entry& entry =
      entries_.emplace_back(key, tensor, OwnerRef(host_, tensor.owner));
  entry.tensor.framework_dtype = NameOfDtype(tensor);
  entry.dimensions = AddDimensions(tensor);
  entry.bytes = *bytes;
  entry.step = step;
  entry.wrote = wrote;
  listed_bytes_ += *bytes;
  return true;
}

void KeptTensors::EnterListed(Dropped* dropped) {
  if (listed_from_ == entries_.size()) return;
  for (; listed_from_ < entries_.size(); ++listed_from_) {
    Enter(static_cast<uint32_t>(listed_from_), dropped);
  }
  listed_bytes_ = 0;
  Sweep();
}

void KeptTensors::Enter(uint32_t number, Dropped* dropped) {
  Entry& entry = entries_[number];
  if (entry.wrote) RecordWriteLocked(entry.tensor.storage_id);
  uint32_t& index = index_.At(entry.key);
  if (index < number && entries_[index].key == entry.key) {
    Remove(&entries_[index], dropped);
  }
  index = number;
  entry.writes = Account(entry.tensor.storage_id, entry.bytes);
  ++live_entries_;
  while (bytes_ > budget() && live_entries_ > 1) {
    Remove(&entries_[oldest_], dropped);
    ++oldest_;
  }
}

size_t KeptTensors::AddDimensions(const graphdbg_tensor& tensor) {
  const size_t begin = dimensions_.size();
  // Mostly two or three, for which inserting a range takes longer.
  for (uint32_t d = 0; d < tensor.ndim; ++d) {
    dimensions_.push_back(tensor.shape[d]);
  }
  if (tensor.strides == nullptr) return begin;
  for (uint32_t d = 0; d < tensor.ndim; ++d) {
    dimensions_.push_back(tensor.strides[d]);
  }
  return begin;
}

std::shared_ptr<const KeptTensor> KeptTensors::Share(const Entry& entry) const {
  if (entry.shared != nullptr) return entry.shared;
  graphdbg_tensor tensor = entry.tensor;
  tensor.shape = dimensions_.data() + entry.dimensions;
  if (tensor.strides != nullptr) tensor.strides = tensor.shape + tensor.ndim;
  entry.shared =
      std::make_shared<KeptTensor>(*std::exchange(entry.owner, std::nullopt),
                                   tensor, entry.step, entry.writes);
  return entry.shared;
}

// A node that executes many times in one step leaves many dropped entries.
void KeptTensors::Sweep() {
  if (entries_.size() < kSweepAt || live_entries_ > entries_.size() / 2) return;
  Compact();
}

void KeptTensors::Compact() {
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                [](const Entry& e) { return e.dropped; }),
                 entries_.end());
  oldest_ = 0;
  listed_from_ = entries_.size();
  std::vector<int64_t> dimensions;
  dimensions.swap(dimensions_);
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    index_.At(entry.key) = static_cast<uint32_t>(i);
    graphdbg_tensor& tensor = entry.tensor;
    tensor.shape = dimensions.data() + entry.dimensions;
    if (tensor.strides != nullptr) tensor.strides = tensor.shape + tensor.ndim;
    entry.dimensions = AddDimensions(tensor);
  }
}

const KeptTensors::Entry* KeptTensors::FindEntry(uint64_t key) const {
  const uint32_t* const index = index_.Find(key);
  if (index == nullptr || *index >= listed_from_) return nullptr;
  const Entry& entry = entries_[*index];
  return entry.key == key && !entry.dropped ? &entry : nullptr;
}

// A dtype with a number has one name in a program, mostly a constant: its text
// is compared only if it is elsewhere than before.
const char* KeptTensors::NameOfDtype(const graphdbg_tensor& tensor) {
  if (tensor.framework_dtype != last_framework_dtype_ ||
      tensor.dtype != last_dtype_ || tensor.dtype == GRAPHDBG_DTYPE_OTHER) {
    last_framework_dtype_ = tensor.framework_dtype;
    last_dtype_ = tensor.dtype;
    name_of_last_dtype_ = Intern(tensor.framework_dtype);
  }
  return name_of_last_dtype_;
}

// A program uses a few dozen dtypes at most.
const char* KeptTensors::Intern(const char* framework_dtype) {
  if (framework_dtype == nullptr) return "";
  for (const std::string& name : dtype_names_) {
    if (name == framework_dtype) return name.c_str();
  }
  return dtype_names_.emplace_back(framework_dtype).c_str();
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
  if (std::exchange(entry->dropped, true)) return;
  --live_entries_;
  dropped->push_back({std::exchange(entry->owner, std::nullopt),
                      std::exchange(entry->shared, nullptr)});
  if (entry->tensor.storage_id == 0) {
    bytes_ -= entry->bytes;
    return;
  }
  Storage& storage = storages_.At(entry->tensor.storage_id);
  if (--storage.tensors == 0) bytes_ -= std::exchange(storage.bytes, 0);
}

bool KeptTensors::Has(uint32_t node, uint32_t slot) {
  Dropped dropped;
  MutexLock lock(&mu_);
  EnterListed(&dropped);
  return FindEntry(KeyOf(node, slot)) != nullptr;
}

void KeptTensors::RecordWrite(uint64_t storage_id) {
  Dropped dropped;
  MutexLock lock(&mu_);
  EnterListed(&dropped);
  RecordWriteLocked(storage_id);
}

void KeptTensors::RecordWriteLocked(uint64_t storage_id) {
  if (Storage* storage = storages_.Find(storage_id)) ++storage->writes;
}

std::shared_ptr<const KeptTensor> KeptTensors::Find(uint32_t node,
                                                    uint32_t slot) {
  Dropped dropped;
  MutexLock lock(&mu_);
  EnterListed(&dropped);
  const Entry* const entry = FindEntry(KeyOf(node, slot));
  return entry == nullptr ? nullptr : Share(*entry);
}

bool KeptTensors::Overwritten(const KeptTensor& tensor) {
  Dropped dropped;
  MutexLock lock(&mu_);
  EnterListed(&dropped);
  if (tensor.storage_id() == 0) return false;
  const Storage* const storage = storages_.Find(tensor.storage_id());
  return storage == nullptr || storage->tensors == 0 ||
         storage->writes != tensor.writes();
}

std::vector<KeptTensors::Kept> KeptTensors::All() {
  Dropped dropped;
  MutexLock lock(&mu_);
  EnterListed(&dropped);
  std::vector<Kept> all;
  all.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    if (entry.dropped) continue;
    all.push_back(
        {NodeOf(entry.key), static_cast<uint32_t>(entry.key), Share(entry)});
  }
  return all;
}

bool KeptTensors::HasAnyOf(uint32_t node) {
  Dropped dropped;
  MutexLock lock(&mu_);
  EnterListed(&dropped);
  return std::any_of(entries_.begin(), entries_.end(),
                     [node](const Entry& entry) {
                       return !entry.dropped && NodeOf(entry.key) == node;
                     });
}

int64_t KeptTensors::bytes() {
  Dropped dropped;
  MutexLock lock(&mu_);
  EnterListed(&dropped);
  return bytes_;
}

void KeptTensors::Clear() {
  std::vector<Entry> dropped;
  {
    MutexLock lock(&mu_);
    dropped.swap(entries_);
    dimensions_.clear();
    oldest_ = live_entries_ = listed_from_ = 0;
    listed_bytes_ = 0;
    index_.Clear();
    storages_.Clear();
    bytes_ = 0;
  }
  // Without the lock, because releasing runs the host's code.
  dropped.clear();
  // The same memory in each step is in the caches.
  MutexLock lock(&mu_);
  if (entries_.capacity() == 0) entries_.swap(dropped);
}

void KeptTensors::ClearExcept(const std::set<uint32_t>& nodes) {
  Dropped dropped;
  MutexLock lock(&mu_);
  EnterListed(&dropped);
  for (Entry& entry : entries_) {
    if (nodes.count(NodeOf(entry.key)) == 0) Remove(&entry, &dropped);
  }
  Compact();
}

}  // namespace graphdbg::agent
