#include "agent/recording/tensor_staging.h"

#include <algorithm>
#include <string>
#include <utility>

#include "agent/tensor/slice.h"
#include "proto/runs/crc32c.h"

namespace graphdbg::recording {
namespace {

// Values that are not contiguous are gathered in pieces of this size.
constexpr int64_t kGatheredBytes = int64_t{256} << 10;
// The room of a header grows by this factor over what the last step needed:
// what is not needed is written as well.
constexpr double kHeaderGrowth = 1.125;
// Time whose unused bytes may be saved at once.
constexpr double kBurstSeconds = 1;
constexpr double kLeastBurstBytes =
    StagingBuffers::kCount * StagingBuffer::kBytes;

uint64_t AlignUp(uint64_t bytes) {
  return (bytes + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
}

uint64_t BuffersFor(uint64_t bytes) {
  return (bytes + StagingBuffer::kBytes - 1) / StagingBuffer::kBytes;
}

// Whether a tensor needs memory of its own. One of the other buffers may be
// open already, and is not written before it is full.
bool IsLarge(uint64_t bytes) {
  return BuffersFor(bytes) + 1 >= StagingBuffers::kCount;
}

// Fills consecutive buffers.
class Filler {
 public:
  Filler(StagingBuffers* buffers, uint64_t number, uint64_t at)
      : buffers_(buffers), number_(number), at_(at) {}

  void Add(const char* bytes, uint64_t size) {
    while (size > 0) {
      if (at_ == StagingBuffer::kBytes) {
        ++number_;
        at_ = 0;
      }
      const uint64_t piece = std::min(size, StagingBuffer::kBytes - at_);
      crc_ = runs::CopyAndExtendCrc32c(
          crc_, buffers_->At(number_)->memory + at_, bytes, piece);
      at_ += piece;
      bytes += piece;
      size -= piece;
    }
  }
  uint32_t crc() const { return crc_; }

 private:
  StagingBuffers* const buffers_;
  uint64_t number_;
  uint64_t at_;
  uint32_t crc_ = 0;
};

}  // namespace

StagedFile::Entry* StagedFile::Add() {
  std::unique_ptr<Entry[]>& segment = segments[count / kSegment];
  if (segment == nullptr) segment = std::make_unique<Entry[]>(kSegment);
  return At(count++);
}

TensorStaging::TensorStaging(const FileOwner& owner, const Limits& limits,
                             std::function<void()> sealed)
    : owner_(owner),
      max_bytes_(limits.bytes),
      sealed_(std::move(sealed)),
      rate_(limits.rate),
      unused_bytes_(kLeastBurstBytes) {}

bool TensorStaging::Save(const agent::TensorToSave& tensor,
                         runs::Record* record) {
  const auto bytes = tensor.view.byte_count();
  if (!bytes || tensor.view.ndim > runs::kMaxSavedDimensions ||
      paused_.load(std::memory_order_relaxed)) {
    return false;
  }
  runs::TensorFields& to = record->tensor;
  to = {};
  to.bytes = static_cast<uint64_t>(*bytes);
  to.ndim = static_cast<uint8_t>(tensor.view.ndim);
  std::copy_n(tensor.view.shape, tensor.view.ndim, to.shape);
  to.grad_scale = tensor.grad_scale;
  Range range;
  bool opened;
  {
    MutexLock lock(&mu_);
    const uint64_t before = buffers_.opened();
    if (!Reserve(tensor, record, &range)) return false;
    opened = buffers_.opened() != before;
  }
  to.data_crc = Copy(tensor.view, range);
  range.entry->record = *record;
  for (uint64_t n = range.first_buffer; n <= range.last_buffer; ++n) {
    buffers_.At(n)->copying.fetch_sub(1, std::memory_order_release);
  }
  // Whatever was opened before is sealed.
  if (opened) sealed_();
  return true;
}

bool TensorStaging::Reserve(const agent::TensorToSave& tensor,
                            runs::Record* record, Range* range) {
  const uint64_t bytes = record->tensor.bytes;
  // In a new file, it is 0, and the entry no longer.
  record->tensor.offset = file_ == nullptr ? 0 : file_->data_bytes;
  const uint64_t entry_bytes = HeaderEntryBytes({record, tensor.node_name});
  const bool begins = NeedsNewFile(*record, entry_bytes);
  const uint64_t left = begins ? 0 : StagingBuffer::kBytes - buffer_->bytes;
  uint64_t needed = BuffersFor(bytes - std::min(bytes, left));
  if (begins) needed = std::max<uint64_t>(needed, 1);
  StagedFile* const file = begins ? FreeFile() : file_;
  if (!IsWithinLimits(bytes, tensor.share) || file == nullptr ||
      !ProvideBuffers(needed, IsLarge(bytes), tensor.share)) {
    return false;
  }
  if (rate_ > 0) unused_bytes_ -= static_cast<double>(bytes);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (begins) BeginFile(file, *record, entry_bytes);
  record->tensor.offset = file_->data_bytes;
  record->tensor.file = file_->number;
  file_->data_bytes += bytes;
  file_->header_bytes += entry_bytes;
  header_bytes_ += entry_bytes;
  *range = {file_->Add(), buffers_.opened() - 1, buffer_->bytes, 0};
  range->entry->node_name = tensor.node_name;
  buffer_->copying.fetch_add(1, std::memory_order_relaxed);
  for (uint64_t rest = bytes; rest > 0;) {
    if (buffer_->bytes == StagingBuffer::kBytes) {
      OpenBuffer();
      buffer_->copying.fetch_add(1, std::memory_order_relaxed);
    }
    const uint64_t piece =
        std::min(rest, StagingBuffer::kBytes - buffer_->bytes);
    buffer_->bytes += piece;
    rest -= piece;
  }
  range->last_buffer = buffers_.opened() - 1;
  return true;
}

StagedFile* TensorStaging::FreeFile() {
  // The first ones are taken again and again, because they have memory already.
  for (StagedFile& file : files_) {
    if (!file.in_use.load(std::memory_order_acquire)) return &file;
  }
  return nullptr;
}

bool TensorStaging::NeedsNewFile(const runs::Record& record,
                                 uint64_t entry_bytes) const {
  return file_ == nullptr || file_->step != record.step ||
         file_->mode != static_cast<runs::Mode>(record.mode) ||
         file_->count == StagedFile::kMaxTensors ||
         (file_->count > 0 &&
          (file_->data_bytes + record.tensor.bytes > StagedFile::kMaxBytes ||
           file_->header_bytes + entry_bytes > file_->data_start));
}

bool TensorStaging::IsWithinLimits(uint64_t bytes, double share) {
  if (bytes > max_bytes_ - std::min(max_bytes_, this->bytes())) {
    reached_limit_.store(true, std::memory_order_relaxed);
    return false;
  }
  const double rate = rate_.load(std::memory_order_relaxed);
  if (rate <= 0) return true;
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> since = now - refilled_at_;
  refilled_at_ = now;
  const double most = std::max(kBurstSeconds * rate, kLeastBurstBytes);
  unused_bytes_ = std::min(most, unused_bytes_ + rate * since.count());
  return unused_bytes_ > most * (1 - share);
}

bool TensorStaging::ProvideBuffers(uint64_t needed, bool extra, double share) {
  if (needed == 0) return true;
  if (!buffers_.Map()) return false;
  if (extra) return buffers_.MapExtra(needed);
  const auto left = static_cast<uint64_t>(
      static_cast<double>(StagingBuffers::kCount) * (1 - share));
  return needed + left <= buffers_.free();
}

void TensorStaging::BeginFile(StagedFile* file, const runs::Record& record,
                              uint64_t entry_bytes) {
  EndFile();
  if (record.step != step_) {
    step_ = record.step;
    files_of_step_ = 0;
    last_header_bytes_ = header_bytes_;
    header_bytes_ = 0;
  }
  file_ = file;
  file_->in_use.store(true, std::memory_order_relaxed);
  file_->step = record.step;
  file_->number = ++files_of_step_;
  file_->mode = static_cast<runs::Mode>(record.mode);
  // A step whose first file was too small gets larger ones.
  const auto expected = static_cast<double>(std::max(
      {last_header_bytes_, entry_bytes, files_of_step_ * header_bytes_}));
  file_->header_bytes = sizeof(uint64_t) + MetadataBytes(owner_);
  file_->data_start =
      std::max(kDefaultDataStart,
               AlignUp(file_->header_bytes +
                       static_cast<uint64_t>(kHeaderGrowth * expected)));
  file_->data_bytes = 0;
  file_->count = 0;
  OpenBuffer();
}

void TensorStaging::OpenBuffer() {
  // The one before is full.
  const uint64_t offset =
      buffer_ == nullptr ? 0 : buffer_->offset + StagingBuffer::kBytes;
  if (buffer_ != nullptr) buffers_.Seal();
  buffer_ = buffers_.Open();
  buffer_->file = file_;
  buffer_->offset = offset;
}

void TensorStaging::EndFile() {
  if (file_ == nullptr) return;
  buffer_->ends_file = true;
  buffers_.Seal();
  buffer_ = nullptr;
  file_ = nullptr;
}

void TensorStaging::EndStep() {
  {
    MutexLock lock(&mu_);
    if (file_ == nullptr) return;
    EndFile();
  }
  sealed_();
}

bool TensorStaging::HasRoom(uint64_t bytes) {
  const uint64_t needed = BuffersFor(bytes);
  {
    MutexLock lock(&mu_);
    if (paused_.load() || reached_limit()) return true;
    if (!IsLarge(bytes)) return needed + 1 <= buffers_.free();
    if (needed > StagingBuffers::kMaxExtra || needed <= buffers_.free_extra()) {
      return true;
    }
    // The memory of a file's last buffer becomes free with the end of the file.
    if (buffer_ == nullptr || !buffer_->extra) return false;
    EndFile();
  }
  sealed_();
  return false;
}

uint32_t TensorStaging::Copy(const TensorView& view, const Range& range) {
  Filler filler(&buffers_, range.first_buffer, range.begin);
  if (view.row_major()) {
    filler.Add(static_cast<const char*>(view.data),
               static_cast<uint64_t>(*view.byte_count()));
    return filler.crc();
  }
  SliceReader reader(view, WholeSlice({view.shape, view.shape + view.ndim}));
  std::string gathered;
  while (!reader.done()) {
    gathered.clear();
    reader.Read(kGatheredBytes, &gathered);
    filler.Add(gathered.data(), gathered.size());
  }
  return filler.crc();
}

}  // namespace graphdbg::recording
