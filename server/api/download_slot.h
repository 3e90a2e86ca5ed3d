// The right to download something that is read from a job piece by piece.
#ifndef SERVER_API_DOWNLOAD_SLOT_H_
#define SERVER_API_DOWNLOAD_SLOT_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "server/api/services.h"
#include "server/base/memory_budget.h"

namespace graphdbg::api {

// Counts a download, and the memory of the pieces that it holds, while it is in
// progress.
class DownloadSlot {
 public:
  // Each download may hold two pieces for as long as its client is connected.
  static constexpr uint32_t kMaxDownloads = 64;

  // RESOURCE_EXHAUSTED "too_many_downloads" or "out_of_memory_budget".
  static absl::StatusOr<std::unique_ptr<DownloadSlot>> Take(
      const Services& services, uint64_t piece_bytes);

  ~DownloadSlot() { --used_; }
  DownloadSlot(const DownloadSlot&) = delete;
  DownloadSlot& operator=(const DownloadSlot&) = delete;

 private:
  explicit DownloadSlot(std::atomic<uint32_t>& used)
      : used_(used), number_(++used) {}

  std::atomic<uint32_t>& used_;
  const uint32_t number_;
  MemoryBudget::Reservation memory_;
};

}  // namespace graphdbg::api

#endif  // SERVER_API_DOWNLOAD_SLOT_H_
