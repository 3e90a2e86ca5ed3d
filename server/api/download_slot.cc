#include "server/api/download_slot.h"

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"

namespace graphdbg::api {

absl::StatusOr<std::unique_ptr<DownloadSlot>> DownloadSlot::Take(
    const Services& services, uint64_t piece_bytes) {
  std::unique_ptr<DownloadSlot> slot(
      new DownloadSlot(services.counters.downloads));
  if (slot->number_ > kMaxDownloads) {
    return Error(absl::StatusCode::kResourceExhausted, "too_many_downloads",
                 absl::StrCat("the limit of ", kMaxDownloads,
                              " concurrent downloads is reached; try again "
                              "when one has finished"));
  }
  if (services.memory != nullptr) {
    // One piece is being sent while the job sends the next.
    ASSIGN_OR_RETURN(
        slot->memory_,
        services.memory->Reserve(MemoryAccount::kResponses, 2 * piece_bytes));
  }
  return slot;
}

}  // namespace graphdbg::api
