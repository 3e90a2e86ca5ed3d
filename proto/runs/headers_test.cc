#include "proto/runs/headers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"

namespace graphdbg::runs {
namespace {

template <typename Header>
std::string BytesOf(const Header& header, size_t size = sizeof(Header)) {
  std::string bytes(size, '\0');
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

RingHeader Ring(uint64_t capacity) {
  RingHeader header{};
  header.magic = kRingMagic;
  header.header_bytes = kRingHeaderBytes;
  header.record_bytes = kRecordBytes;
  header.capacity = capacity;
  return header;
}

bool IsDataLoss(const absl::Status& status, const char* text) {
  return status.code() == absl::StatusCode::kDataLoss &&
         absl::StrContains(status.message(), text);
}

TEST(Headers, OfSegmentsHaveTheDocumentedBytes) {
  SegmentHeader header;
  header.first_position = 0x0102;
  header.rank = 3;
  header.world_size = 4;
  const std::string bytes = BytesOf(header);
  EXPECT_EQ(bytes.substr(0, 8), std::string("GDBGLOG\x01", 8));
  EXPECT_EQ(bytes.substr(8, 8), std::string("\x40\0\0\0\xa0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(16, 8), std::string("\x02\x01\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(48, 8), std::string("\x03\0\0\0\x04\0\0\0", 8));
  const auto decoded = DecodeSegmentHeader(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->first_position, 0x0102u);
}

TEST(Headers, OfOtherFilesAndLaterVersionsAreRefused) {
  std::string bytes = BytesOf(SegmentHeader());
  EXPECT_TRUE(IsDataLoss(DecodeRingHeader(bytes).status(), "'GDBGRNG'"));
  EXPECT_TRUE(IsDataLoss(DecodeSegmentHeader("").status(), "'GDBGLOG'"));
  EXPECT_TRUE(
      IsDataLoss(DecodeSegmentHeader(bytes.substr(0, 63)).status(), "63"));
  bytes[7] = 2;
  EXPECT_TRUE(IsDataLoss(DecodeSegmentHeader(bytes).status(), "version 2"));
  EXPECT_TRUE(IsDataLoss(DecodeMessagesHeader("GDBGMSG\x01").status(), "16"));
}

TEST(Headers, WithOtherSizesOrRanksAreRefused) {
  SegmentHeader header;
  header.record_bytes = 152;
  EXPECT_TRUE(IsDataLoss(DecodeSegmentHeader(BytesOf(header)).status(), "152"));
  header = {};
  header.rank = kMaxRanks;
  EXPECT_TRUE(
      IsDataLoss(DecodeSegmentHeader(BytesOf(header)).status(), "65536"));
}

TEST(Headers, OfARingMustFitItsFile) {
  const size_t room_for_two = kRingHeaderBytes + 2 * kRecordBytes;
  EXPECT_TRUE(DecodeRingHeader(BytesOf(Ring(2), room_for_two)).ok());
  for (const uint64_t capacity : {uint64_t{0}, uint64_t{3}, ~uint64_t{0}}) {
    EXPECT_TRUE(IsDataLoss(
        DecodeRingHeader(BytesOf(Ring(capacity), room_for_two)).status(),
        "room for 2"));
  }
}

}  // namespace
}  // namespace graphdbg::runs
