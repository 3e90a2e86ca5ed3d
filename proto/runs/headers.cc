#include "proto/runs/headers.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::runs {
namespace {

absl::Status CheckMagic(absl::string_view file, const Magic& magic,
                        size_t header_bytes) {
  const absl::string_view letters(magic.data(), magic.size() - 1);
  if (file.size() < magic.size() || file.substr(0, letters.size()) != letters) {
    return absl::DataLossError(
        absl::StrCat("the file does not begin with '", letters, "'"));
  }
  if (const int version = static_cast<unsigned char>(file[letters.size()]);
      version != magic.back()) {
    return absl::DataLossError(
        absl::StrCat("version ", version, " of '", letters,
                     "' is not known; this program reads version ",
                     static_cast<int>(magic.back())));
  }
  if (file.size() < header_bytes) {
    return absl::DataLossError(absl::StrCat(
        "the file has ", file.size(), " bytes; its header has ", header_bytes));
  }
  return absl::OkStatus();
}

absl::Status CheckSizes(uint32_t header_bytes, uint32_t expected_header_bytes,
                        uint32_t record_bytes) {
  if (header_bytes != expected_header_bytes || record_bytes != kRecordBytes) {
    return absl::DataLossError(absl::StrCat(
        "a header of ", header_bytes, " bytes and records of ", record_bytes,
        "; expected ", expected_header_bytes, " and ", kRecordBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckRank(uint32_t rank, uint32_t world_size) {
  if (rank >= kMaxRanks || world_size > kMaxRanks) {
    return absl::DataLossError(absl::StrCat("rank ", rank, " of ", world_size,
                                            "; a run has at most ", kMaxRanks,
                                            " ranks"));
  }
  return absl::OkStatus();
}

template <typename Header>
Header CopyOf(absl::string_view file) {
  Header header;
  std::memcpy(&header, file.data(), sizeof(header));
  return header;
}

}  // namespace

absl::StatusOr<RingHeader> DecodeRingHeader(absl::string_view file) {
  RETURN_IF_ERROR(CheckMagic(file, kRingMagic, kRingHeaderBytes));
  const RingHeader header = CopyOf<RingHeader>(file);
  RETURN_IF_ERROR(
      CheckSizes(header.header_bytes, kRingHeaderBytes, header.record_bytes));
  RETURN_IF_ERROR(CheckRank(header.rank, header.world_size));
  const uint64_t room = (file.size() - kRingHeaderBytes) / kRecordBytes;
  if (header.capacity == 0 || header.capacity > room) {
    return absl::DataLossError(
        absl::StrCat("a ring of ", header.capacity, " records in a file of ",
                     file.size(), " bytes, which has room for ", room));
  }
  return header;
}

absl::StatusOr<SegmentHeader> DecodeSegmentHeader(absl::string_view file) {
  RETURN_IF_ERROR(CheckMagic(file, kSegmentMagic, kSegmentHeaderBytes));
  const SegmentHeader header = CopyOf<SegmentHeader>(file);
  RETURN_IF_ERROR(CheckSizes(header.header_bytes, kSegmentHeaderBytes,
                             header.record_bytes));
  RETURN_IF_ERROR(CheckRank(header.rank, header.world_size));
  return header;
}

absl::StatusOr<MessagesHeader> DecodeMessagesHeader(absl::string_view file) {
  RETURN_IF_ERROR(CheckMagic(file, kMessagesMagic, kMessagesHeaderBytes));
  return CopyOf<MessagesHeader>(file);
}

}  // namespace graphdbg::runs
