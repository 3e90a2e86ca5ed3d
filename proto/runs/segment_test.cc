#include "proto/runs/segment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/runs/crc32c.h"

namespace graphdbg::runs {
namespace {

Record Statistics(uint64_t position, uint64_t step) {
  Record record{};
  record.kind = static_cast<uint16_t>(Kind::kStatistics);
  record.step = step;
  record.node = 7;
  record.statistics.count = 3;
  record.statistics.min = -1;
  record.statistics.mean = std::numeric_limits<double>::quiet_NaN();
  record.statistics.grad_scale = 1;
  record.crc = RecordCrc(position, record);
  return record;
}

// A segment of `count` records from `first` on; each step is its position.
std::string SegmentOf(uint64_t first, size_t count) {
  SegmentHeader header;
  header.first_position = first;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  for (size_t i = 0; i < count; ++i) {
    const Record record = Statistics(first + i, first + i);
    bytes.append(reinterpret_cast<const char*>(&record), sizeof(record));
  }
  return bytes;
}

TEST(Record, ChecksumIsThatOfThePositionAndTheBytesBehindIt) {
  const Record record = Statistics(5, 1);
  std::string bytes("\x05\0\0\0\0\0\0\0", 8);
  bytes.append(reinterpret_cast<const char*>(&record) + 4, 156);
  EXPECT_EQ(record.crc, Crc32c(bytes.data(), bytes.size()));
  EXPECT_TRUE(IsAt(5, record));
}

// Readers in other languages are tested against the same bytes.
TEST(Record, ChecksumOfOneThatIsKnown) {
  Record record{};
  record.kind = static_cast<uint16_t>(Kind::kHole);
  record.step = 2;
  EXPECT_EQ(RecordCrc(3, record), 0x3B60E11Bu);
}

TEST(Record, InTheWrongPlaceIsNone) {
  EXPECT_FALSE(IsAt(6, Statistics(5, 1)));
  EXPECT_FALSE(IsAt(0, Record{}));
}

TEST(Segment, HasItsRecords) {
  const std::string bytes = SegmentOf(100, 3);
  const auto segment = ReadSegment(bytes);
  ASSERT_TRUE(segment.ok()) << segment.status();
  ASSERT_EQ(segment->records.size(), 3u);
  EXPECT_EQ(segment->rest_bytes, 0u);
  EXPECT_EQ(segment->end_position(), 103u);
  EXPECT_EQ(segment->records[2].step, 102u);
  EXPECT_EQ(segment->records[2].statistics.min, -1);
  EXPECT_TRUE(std::isnan(segment->records[2].statistics.mean));
}

TEST(Segment, EndsBeforeATornRecord) {
  const std::string whole = SegmentOf(0, 3);
  for (size_t size = kSegmentHeaderBytes; size < whole.size(); ++size) {
    const std::string torn = whole.substr(0, size);
    const auto segment = ReadSegment(torn);
    ASSERT_TRUE(segment.ok());
    EXPECT_EQ(segment->records.size(),
              (size - kSegmentHeaderBytes) / kRecordBytes);
    EXPECT_EQ(segment->rest_bytes, (size - kSegmentHeaderBytes) % kRecordBytes);
  }
}

TEST(Segment, EndsBeforeTheFirstDamagedRecord) {
  for (size_t at = 0; at < kRecordBytes; ++at) {
    std::string bytes = SegmentOf(0, 3);
    bytes[kSegmentHeaderBytes + kRecordBytes + at] ^= 0x10;
    const auto segment = ReadSegment(bytes);
    ASSERT_TRUE(segment.ok());
    EXPECT_EQ(segment->records.size(), 1u) << at;
    EXPECT_EQ(segment->rest_bytes, 2 * kRecordBytes);
  }
}

TEST(Segment, EndsBeforeARecordInTheWrongPlace) {
  std::string bytes = SegmentOf(10, 4);
  char* const records = bytes.data() + kSegmentHeaderBytes;
  std::memmove(records + kRecordBytes, records + 2 * kRecordBytes,
               2 * kRecordBytes);
  const auto segment = ReadSegment(bytes);
  ASSERT_TRUE(segment.ok());
  EXPECT_EQ(segment->records.size(), 1u);
}

TEST(Segment, EndsBeforeZeros) {
  const std::string bytes = SegmentOf(0, 2) + std::string(4096, '\0');
  const auto segment = ReadSegment(bytes);
  ASSERT_TRUE(segment.ok());
  EXPECT_EQ(segment->records.size(), 2u);
}

TEST(Segment, CanBeFollowed) {
  const std::string bytes = SegmentOf(0, 5);
  const absl::string_view records =
      absl::string_view(bytes).substr(kSegmentHeaderBytes);
  const auto first = RecordsOf(records.substr(0, 2 * kRecordBytes + 9), 0);
  ASSERT_EQ(first.size(), 2u);
  const auto rest =
      RecordsOf(records.substr(first.size() * kRecordBytes), first.size());
  EXPECT_EQ(rest.size(), 3u);
}

TEST(Segment, MustBeAligned) {
  const std::string bytes = "x" + SegmentOf(0, 1);
  EXPECT_EQ(ReadSegment(absl::string_view(bytes).substr(1)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace graphdbg::runs
