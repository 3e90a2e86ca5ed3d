#include "agent/runtime/cuda_memory_pool.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "agent/runtime/cuda_context.h"

namespace graphdbg::runtime {
namespace {

// Spare memory kept in addition to the amount in use.
constexpr size_t kSpareBytes = 16 << 20;

}  // namespace

class CudaMemoryPool::Memory final : public DeviceCopy {
 public:
  Memory(CudaMemoryPool* pool, uint64_t address, int64_t bytes)
      : pool_(pool), address_(address), bytes_(bytes) {}
  ~Memory() override { pool_->Release(address_, static_cast<size_t>(bytes_)); }

  const void* data() const override {
    return reinterpret_cast<const void*>(address_);
  }
  int64_t bytes() const override { return bytes_; }

 private:
  CudaMemoryPool* const pool_;
  const uint64_t address_;
  const int64_t bytes_;
};

absl::StatusOr<std::shared_ptr<DeviceCopy>> CudaMemoryPool::Allocate(
    int64_t bytes) {
  const auto size = static_cast<size_t>(bytes);
  uint64_t address = 0;
  {
    MutexLock lock(&mu_);
    used_bytes_ += size;
    const auto it = spare_.find(size);
    if (it != spare_.end()) {
      address = it->second;
      spare_bytes_ -= size;
      spare_.erase(it);
    }
  }
  if (address == 0) {
    const absl::Status status = driver_->Check(
        driver_->MemAlloc(&address, std::max<size_t>(size, 1)), "cuMemAlloc");
    if (!status.ok()) {
      MutexLock lock(&mu_);
      used_bytes_ -= size;
      return status;
    }
  }
  return std::shared_ptr<DeviceCopy>(
      std::make_shared<Memory>(this, address, bytes));
}

void CudaMemoryPool::Release(uint64_t address, size_t bytes) {
  std::vector<uint64_t> to_free;
  {
    MutexLock lock(&mu_);
    used_bytes_ -= bytes;
    spare_.emplace(bytes, address);
    spare_bytes_ += bytes;
    while (spare_bytes_ > used_bytes_ + kSpareBytes) {
      const auto largest = std::prev(spare_.end());
      spare_bytes_ -= largest->first;
      to_free.push_back(largest->second);
      spare_.erase(largest);
    }
  }
  if (to_free.empty()) return;
  const CudaContext context(*driver_, context_);
  for (const uint64_t each : to_free) driver_->MemFree(each);
}

void CudaMemoryPool::FreeAll() {
  MutexLock lock(&mu_);
  for (const auto& [bytes, address] : spare_) driver_->MemFree(address);
  spare_.clear();
  spare_bytes_ = 0;
}

}  // namespace graphdbg::runtime
