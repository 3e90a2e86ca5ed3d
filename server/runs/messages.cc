#include "server/runs/messages.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/runs/message_file.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::recorded {
namespace {

// Several messages of the largest size.
constexpr uint64_t kChunkBytes = uint64_t{16} << 20;
static_assert(kChunkBytes > 2 * uint64_t{runs::kMaxMessageBytes});

}  // namespace

absl::Status MessageFollower::Poll(
    const Folder& folder, absl::FunctionRef<void(absl::string_view)> use) {
  if (!file_) {
    auto file = folder.OpenFile(name_);
    if (absl::IsNotFound(file.status())) return absl::OkStatus();
    RETURN_IF_ERROR(file.status());
    file_ = *std::move(file);
  }
  const uint64_t end = file_->size();
  // The reader expects a whole file, so each chunk has the header before it.
  std::string chunk(runs::kMessagesHeaderBytes, '\0');
  ASSIGN_OR_RETURN(const size_t head, file_->ReadAt(0, chunk));
  if (head < chunk.size()) return absl::OkStatus();
  while (offset_ < end) {
    const uint64_t wanted = std::min(kChunkBytes, end - offset_);
    chunk.resize(runs::kMessagesHeaderBytes + wanted);
    ASSIGN_OR_RETURN(const size_t count,
                     file_->ReadAt(offset_, std::span(chunk).subspan(
                                                runs::kMessagesHeaderBytes)));
    chunk.resize(runs::kMessagesHeaderBytes + count);
    auto reader = runs::MessageReader::Open(chunk, kind_);
    if (!reader.ok()) {
      return absl::DataLossError(
          absl::StrCat(file_->path(), ": ", reader.status().message()));
    }
    while (const auto message = reader->Next()) use(*message);
    const uint64_t read = reader->offset() - runs::kMessagesHeaderBytes;
    offset_ += read;
    if (read == 0) break;
  }
  rest_bytes_ = end - std::min(end, offset_);
  if (rest_bytes_ <= runs::kMaxMessageBytes) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(file_->path(), " is damaged at byte ",
                                          offset_, "; the ", rest_bytes_,
                                          " bytes behind it are not read"));
}

}  // namespace graphdbg::recorded
