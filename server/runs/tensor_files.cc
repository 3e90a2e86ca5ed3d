#include "server/runs/tensor_files.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/runs/layout.h"
#include "proto/wire/status_macros.h"
#include "server/tensor/shape.h"

namespace graphdbg::recorded {
namespace {

// The size of the header, in front of it.
constexpr uint64_t kSizeBytes = 8;
constexpr size_t kMaxFiles = 4'000'000;
constexpr size_t kMaxOpen = 32;
// Files that are looked at, in each direction, for the nearest step.
constexpr int kMaxLooks = 64;
// A parsed header takes about this many times the bytes of its text.
constexpr uint64_t kParsedPerByte = 16;
// Gaps between the elements of a slice are read up to this size.
constexpr uint64_t kMaxCover = uint64_t{16} << 20;

// The type of the values that a record describes; kOther if they cannot be
// read.
absl::StatusOr<StoredTensor> TensorOf(const runs::Record& saved,
                                      uint64_t data_start) {
  const runs::TensorFields& fields = saved.tensor;
  if (fields.ndim > runs::kMaxSavedDimensions) {
    return absl::DataLossError("a record of values has too many dimensions");
  }
  StoredTensor tensor;
  tensor.type.dtype = DTypeFromNumber(saved.dtype);
  tensor.type.shape.assign(fields.shape, fields.shape + fields.ndim);
  tensor.bytes = fields.bytes;
  tensor.offset = data_start + fields.offset;
  const auto expected =
      tensor::DenseBytes(tensor.type.dtype, tensor.type.shape);
  if (expected != fields.bytes) {
    return absl::DataLossError(
        "the size of recorded values does not match their type and shape");
  }
  return tensor;
}

// Consecutive bytes of a tensor.
struct Piece {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// The smallest piece that contains all elements of a slice, which has some.
Piece CoverOf(const Slice& slice, const std::vector<int64_t>& shape,
              uint64_t item_bytes) {
  uint64_t first = 0;
  uint64_t end = item_bytes;
  uint64_t stride = item_bytes;
  for (size_t d = slice.size(); d-- > 0;) {
    const SliceDimension& s = slice[d];
    const int64_t last = s.start + (s.count - 1) * s.step;
    first += static_cast<uint64_t>(std::min(s.start, last)) * stride;
    end += static_cast<uint64_t>(std::max(s.start, last)) * stride;
    stride *= static_cast<uint64_t>(shape[d]);
  }
  return {first, end - first};
}

// Splits a slice into the pieces that are consecutive in memory, in its order.
absl::Status ForEachPiece(const Slice& slice, const std::vector<int64_t>& shape,
                          uint64_t item_bytes,
                          absl::FunctionRef<absl::Status(Piece)> use) {
  for (const SliceDimension& d : slice) {
    if (d.count == 0) return absl::OkStatus();
  }
  std::vector<uint64_t> strides(shape.size());
  uint64_t stride = item_bytes;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= static_cast<uint64_t>(shape[d]);
  }
  // The innermost dimensions that are taken as a whole, and one more that is
  // taken without gaps, form one piece.
  size_t inner = shape.size();
  uint64_t bytes = item_bytes;
  bool whole = true;
  while (inner > 0 && whole) {
    const SliceDimension& d = slice[inner - 1];
    if (d.step != 1 && d.count != 1) break;
    --inner;
    bytes = strides[inner] * static_cast<uint64_t>(d.count);
    whole = d.start == 0 && d.count == shape[inner];
  }
  uint64_t base = 0;
  for (size_t d = inner; d < shape.size(); ++d) {
    base += static_cast<uint64_t>(slice[d].start) * strides[d];
  }
  std::vector<int64_t> index(inner, 0);
  while (true) {
    uint64_t offset = base;
    for (size_t d = 0; d < inner; ++d) {
      offset +=
          static_cast<uint64_t>(slice[d].start + index[d] * slice[d].step) *
          strides[d];
    }
    RETURN_IF_ERROR(use({offset, bytes}));
    size_t d = inner;
    while (d > 0 && ++index[d - 1] == slice[d - 1].count) index[--d] = 0;
    if (d == 0) return absl::OkStatus();
  }
}

}  // namespace

TensorFiles::TensorFiles(Folder folder, std::shared_ptr<MemoryBudget> memory)
    : folder_(std::move(folder)), memory_(std::move(memory)) {}

void TensorFiles::Refresh() {
  if (!tensors_) {
    auto tensors = folder_.OpenFolder(runs::kTensorsDirectory);
    if (!tensors.ok()) {
      if (absl::IsNotFound(tensors.status())) return;
      damage_[folder_.PathOf(runs::kTensorsDirectory)] =
          std::string(tensors.status().message());
      return;
    }
    tensors_ = *std::move(tensors);
  }
  const auto names = tensors_->List(kMaxFiles);
  if (!names.ok()) {
    damage_[tensors_->path()] = std::string(names.status().message());
    return;
  }
  files_.clear();
  for (const std::string& name : *names) {
    const auto parsed = runs::ParseTensorFile(name);
    if (parsed) files_[parsed->step].push_back(name);
  }
}

std::vector<uint64_t> TensorFiles::Steps() const {
  std::vector<uint64_t> steps;
  for (const auto& [step, names] : files_) steps.push_back(step);
  return steps;
}

absl::StatusOr<TensorFiles::OpenFile> TensorFiles::ReadHeader(
    const std::string& name) {
  ASSIGN_OR_RETURN(File file, tensors_->OpenFile(name));
  const uint64_t file_bytes = file.size();
  std::array<char, kSizeBytes> first;
  ASSIGN_OR_RETURN(const size_t count, file.ReadAt(0, first));
  ASSIGN_OR_RETURN(const uint64_t size,
                   HeaderBytes({first.data(), count}, file_bytes));
  MemoryBudget::Reservation reserved;
  if (memory_ != nullptr) {
    ASSIGN_OR_RETURN(reserved, memory_->Reserve(MemoryAccount::kTensors,
                                                size * kParsedPerByte));
  }
  std::string text(size, '\0');
  RETURN_IF_ERROR(file.ReadExactly(first.size(), text));
  ASSIGN_OR_RETURN(StoredTensors tensors, ParseHeader(text, file_bytes));
  return OpenFile{name, std::move(file),
                  std::make_shared<const StoredTensors>(std::move(tensors))};
}

absl::StatusOr<const TensorFiles::OpenFile*> TensorFiles::Open(
    const std::string& name) {
  const auto known =
      std::find_if(open_.begin(), open_.end(),
                   [&](const OpenFile& each) { return each.name == name; });
  if (known != open_.end()) {
    open_.splice(open_.begin(), open_, known);
    return &open_.front();
  }
  absl::StatusOr<OpenFile> opened = ReadHeader(name);
  if (!opened.ok()) {
    const std::string path = tensors_->PathOf(name);
    const absl::Status& status = opened.status();
    if (absl::IsDataLoss(status)) {
      damage_[path] = std::string(status.message());
    }
    return absl::Status(status.code(),
                        absl::StrCat(path, ": ", status.message()));
  }
  open_.push_front(*std::move(opened));
  if (open_.size() > kMaxOpen) open_.pop_back();
  return &open_.front();
}

absl::StatusOr<TensorFiles::Found> TensorFiles::FindRecorded(
    const runs::Record& saved) {
  if (!tensors_) return absl::NotFoundError("no values were saved");
  const std::string name = runs::TensorFile(saved.step, saved.tensor.file);
  auto file = tensors_->OpenFile(name);
  if (absl::IsNotFound(file.status())) {
    file = tensors_->OpenFile(absl::StrCat(name, runs::kPartSuffix));
  }
  RETURN_IF_ERROR(file.status());
  const uint64_t file_bytes = file->size();
  std::array<char, kSizeBytes> first;
  ASSIGN_OR_RETURN(const size_t count, file->ReadAt(0, first));
  ASSIGN_OR_RETURN(const uint64_t size,
                   HeaderBytes({first.data(), count}, file_bytes));
  ASSIGN_OR_RETURN(StoredTensor tensor, TensorOf(saved, kSizeBytes + size));
  const uint64_t room = file_bytes - std::min(file_bytes, tensor.offset);
  if (tensor.offset < saved.tensor.offset || tensor.bytes > room) {
    return absl::NotFoundError("the values were not written whole");
  }
  return Found{*std::move(file), std::move(tensor)};
}

absl::StatusOr<std::optional<TensorFiles::Found>> TensorFiles::Find(
    uint64_t step, std::string_view name) {
  const auto files = files_.find(step);
  if (files == files_.end()) return std::nullopt;
  for (const std::string& file : files->second) {
    if (absl::EndsWith(file, runs::kPartSuffix)) continue;
    ASSIGN_OR_RETURN(const OpenFile* const open, Open(file));
    const auto tensor = open->tensors->find(name);
    if (tensor != open->tensors->end()) {
      return Found{open->file, tensor->second};
    }
  }
  return std::nullopt;
}

bool TensorFiles::Has(uint64_t step, std::string_view name) {
  const auto found = Find(step, name);
  return found.ok() && found->has_value();
}

TensorFiles::Nearest TensorFiles::FindNearest(uint64_t step,
                                              std::string_view name) {
  Nearest nearest;
  const auto from = files_.lower_bound(step);
  auto after = from;
  for (int i = 0; i < kMaxLooks && after != files_.end(); ++i, ++after) {
    if (after->first == step || !Has(after->first, name)) continue;
    nearest.after = after->first;
    break;
  }
  auto before = from;
  for (int i = 0; i < kMaxLooks && before != files_.begin(); ++i) {
    --before;
    if (!Has(before->first, name)) continue;
    nearest.before = before->first;
    break;
  }
  return nearest;
}

absl::StatusOr<std::string> ReadSlice(const File& file,
                                      const StoredTensor& tensor,
                                      const Slice& slice) {
  const uint64_t item_bytes = ItemSize(tensor.type.dtype);
  const uint64_t bytes =
      static_cast<uint64_t>(graphdbg::ElementCount(slice)) * item_bytes;
  std::string data;
  data.reserve(bytes);
  if (bytes == 0) return data;
  const auto& shape = tensor.type.shape;
  const Piece cover = CoverOf(slice, shape, item_bytes);
  if (cover.bytes <= kMaxCover) {
    std::string around(cover.bytes, '\0');
    RETURN_IF_ERROR(file.ReadExactly(tensor.offset + cover.offset, around));
    RETURN_IF_ERROR(ForEachPiece(slice, shape, item_bytes, [&](Piece piece) {
      data.append(around, piece.offset - cover.offset, piece.bytes);
      return absl::OkStatus();
    }));
    return data;
  }
  RETURN_IF_ERROR(ForEachPiece(slice, shape, item_bytes, [&](Piece piece) {
    const size_t at = data.size();
    data.resize(at + piece.bytes);
    return file.ReadExactly(tensor.offset + piece.offset,
                            std::span(data).subspan(at));
  }));
  return data;
}

}  // namespace graphdbg::recorded
