#include "agent/core/zip_writer.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "proto/wire/status_macros.h"

namespace graphdbg::agent {
namespace {

constexpr uint64_t kMax32 = 0xffffffff;
constexpr uint16_t kZip64Version = 45;
constexpr uint16_t kUtf8Names = 1 << 11;
// 1980-01-01, so that the same content gives the same bytes.
constexpr uint16_t kDate = 0x21;
// A regular file of UNIX that only its owner may read and write.
constexpr uint16_t kMadeOnUnix = 3 << 8 | kZip64Version;
constexpr uint32_t kAttributes = uint32_t{0100600} << 16;

// Tables of the CRC-32 of ZIP, by which 8 bytes are added at a time.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

Tables MakeTables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1) ^ (value & 1 ? 0xedb88320 : 0);
    }
    tables[0][i] = value;
  }
  for (uint32_t i = 0; i < 256; ++i) {
    for (int k = 1; k < 8; ++k) {
      const uint32_t before = tables[k - 1][i];
      tables[k][i] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

uint32_t Checksum(uint32_t before, absl::string_view bytes) {
  static const Tables* const tables = new Tables(MakeTables());
  const Tables& t = *tables;
  const auto* next = reinterpret_cast<const unsigned char*>(bytes.data());
  size_t left = bytes.size();
  uint32_t crc = ~before;
  for (; left >= 8; left -= 8, next += 8) {
    crc ^= uint32_t{next[0]} | uint32_t{next[1]} << 8 |
           uint32_t{next[2]} << 16 | uint32_t{next[3]} << 24;
    crc = t[7][crc & 0xff] ^ t[6][(crc >> 8) & 0xff] ^
          t[5][(crc >> 16) & 0xff] ^ t[4][crc >> 24] ^ t[3][next[4]] ^
          t[2][next[5]] ^ t[1][next[6]] ^ t[0][next[7]];
  }
  for (; left > 0; --left, ++next) {
    crc = (crc >> 8) ^ t[0][(crc ^ *next) & 0xff];
  }
  return ~crc;
}

// Appends numbers in little-endian order.
class Fields {
 public:
  Fields& U16(uint64_t value) { return Put(value, 2); }
  Fields& U32(uint64_t value) { return Put(value, 4); }
  Fields& U64(uint64_t value) { return Put(value, 8); }
  Fields& Text(absl::string_view text) {
    bytes_.append(text.data(), text.size());
    return *this;
  }
  std::string Take() { return std::move(bytes_); }

 private:
  Fields& Put(uint64_t value, int size) {
    for (int i = 0; i < size; ++i) {
      bytes_ += static_cast<char>(value >> (8 * i));
    }
    return *this;
  }

  std::string bytes_;
};

absl::Status FileError() {
  const int error = errno;
  return absl::ErrnoToStatus(error, "cannot write");
}

absl::Status WriteAt(int file, uint64_t offset, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError();
    offset += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ZipWriter::Append(absl::string_view bytes) {
  RETURN_IF_ERROR(WriteAt(file_, end_, bytes));
  end_ += bytes.size();
  return absl::OkStatus();
}

std::string ZipWriter::LocalHeader(const Member& member) {
  const bool large = member.bytes >= kMax32;
  Fields fields;
  fields.U32(0x04034b50).U16(kZip64Version).U16(kUtf8Names).U16(0);
  fields.U16(0).U16(kDate).U32(member.checksum);
  fields.U32(large ? kMax32 : member.bytes).U32(large ? kMax32 : member.bytes);
  fields.U16(member.name.size()).U16(large ? 20 : 0).Text(member.name);
  if (large) fields.U16(1).U16(16).U64(member.bytes).U64(member.bytes);
  return fields.Take();
}

std::string ZipWriter::DirectoryEntry(const Member& member) {
  const bool large = member.bytes >= kMax32 || member.offset >= kMax32;
  const uint64_t bytes = large ? kMax32 : member.bytes;
  Fields fields;
  fields.U32(0x02014b50).U16(kMadeOnUnix).U16(kZip64Version).U16(kUtf8Names);
  fields.U16(0).U16(0).U16(kDate).U32(member.checksum).U32(bytes).U32(bytes);
  fields.U16(member.name.size()).U16(large ? 28 : 0).U16(0).U16(0).U16(0);
  fields.U32(kAttributes).U32(large ? kMax32 : member.offset);
  fields.Text(member.name);
  if (large) {
    fields.U16(1).U16(24).U64(member.bytes).U64(member.bytes);
    fields.U64(member.offset);
  }
  return fields.Take();
}

absl::Status ZipWriter::Begin(std::string name, uint64_t bytes) {
  Member member;
  member.name = std::move(name);
  member.offset = end_;
  member.bytes = bytes;
  RETURN_IF_ERROR(Append(LocalHeader(member)));
  members_.push_back(std::move(member));
  written_ = 0;
  digest_ = Sha256();
  return absl::OkStatus();
}

absl::Status ZipWriter::Write(absl::string_view bytes) {
  Member& member = members_.back();
  member.checksum = Checksum(member.checksum, bytes);
  digest_.Add(bytes);
  written_ += bytes.size();
  return Append(bytes);
}

absl::StatusOr<std::string> ZipWriter::End() {
  const Member& member = members_.back();
  if (written_ != member.bytes) {
    return absl::InternalError("a member has another size than announced");
  }
  RETURN_IF_ERROR(WriteAt(file_, member.offset, LocalHeader(member)));
  return digest_.Finish();
}

absl::StatusOr<std::string> ZipWriter::Add(std::string name,
                                           absl::string_view content) {
  RETURN_IF_ERROR(Begin(std::move(name), content.size()));
  RETURN_IF_ERROR(Write(content));
  return End();
}

absl::Status ZipWriter::Finish() {
  const uint64_t begin = end_;
  for (const Member& member : members_) {
    RETURN_IF_ERROR(Append(DirectoryEntry(member)));
  }
  const uint64_t size = end_ - begin;
  const uint64_t count = members_.size();
  Fields fields;
  if (begin >= kMax32) {
    const uint64_t at = end_;
    fields.U32(0x06064b50).U64(44).U16(kMadeOnUnix).U16(kZip64Version);
    fields.U32(0).U32(0).U64(count).U64(count).U64(size).U64(begin);
    fields.U32(0x07064b50).U32(0).U64(at).U32(1);
  }
  fields.U32(0x06054b50).U16(0).U16(0).U16(count).U16(count).U32(size);
  fields.U32(begin >= kMax32 ? kMax32 : begin).U16(0);
  return Append(fields.Take());
}

}  // namespace graphdbg::agent
