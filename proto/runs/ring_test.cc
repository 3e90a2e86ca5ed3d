#include "proto/runs/ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphdbg::runs {
namespace {

constexpr uint64_t kCapacity = 4;

// The bytes of a ring whose process has appended `head` records; the step of
// each is its position.
class Ring {
 public:
  explicit Ring(uint64_t head)
      : words_((kRingHeaderBytes + kCapacity * kRecordBytes) / 8) {
    RingHeader header{};
    header.magic = kRingMagic;
    header.header_bytes = kRingHeaderBytes;
    header.record_bytes = kRecordBytes;
    header.capacity = kCapacity;
    header.head = head;
    std::memcpy(words_.data(), &header, sizeof(header));
    for (uint64_t at = 0; at < head; ++at) {
      Record record{};
      record.kind = static_cast<uint16_t>(Kind::kStatistics);
      record.step = at;
      record.crc = RecordCrc(at, record);
      std::memcpy(bytes() + SlotOffset(at, kCapacity), &record, kRecordBytes);
    }
  }

  char* bytes() { return reinterpret_cast<char*>(words_.data()); }
  absl::string_view view() { return {bytes(), words_.size() * 8}; }

  std::vector<uint64_t> PositionsFrom(uint64_t begin) {
    std::vector<uint64_t> positions;
    const auto ring = RingView::Open(view());
    EXPECT_TRUE(ring.ok()) << ring.status();
    ring->ForEach(begin, [&](uint64_t position, const Record& record) {
      EXPECT_EQ(record.step, position);
      positions.push_back(position);
    });
    return positions;
  }

 private:
  std::vector<uint64_t> words_;
};

using Positions = std::vector<uint64_t>;

TEST(Ring, HasWhatIsNotInTheLog) {
  EXPECT_EQ(Ring(0).PositionsFrom(0), Positions());
  EXPECT_EQ(Ring(3).PositionsFrom(0), (Positions{0, 1, 2}));
  EXPECT_EQ(Ring(3).PositionsFrom(2), (Positions{2}));
  EXPECT_EQ(Ring(3).PositionsFrom(3), Positions());
}

TEST(Ring, HasTheLastRecordsOnceItHasWrapped) {
  EXPECT_EQ(Ring(11).PositionsFrom(0), (Positions{7, 8, 9, 10}));
}

TEST(Ring, LeavesOutWhatWasNotCommitted) {
  Ring ring(6);
  // Position 4 is reserved, and its thread stopped in the midst of it.
  std::memset(ring.bytes() + SlotOffset(4, kCapacity), 0, 4);
  EXPECT_EQ(ring.PositionsFrom(0), (Positions{2, 3, 5}));
}

TEST(Ring, LeavesOutASlotOfAnEarlierRound) {
  Ring ring(6);
  const auto header =
      reinterpret_cast<RingHeader*>(static_cast<void*>(ring.bytes()));
  header->head = 8;  // 6 and 7 are reserved; their slots have 2 and 3 still.
  EXPECT_EQ(ring.PositionsFrom(0), (Positions{4, 5}));
}

TEST(Ring, WithANonsensicalHeadIsReadInBoundedTime) {
  Ring ring(6);
  const auto header =
      reinterpret_cast<RingHeader*>(static_cast<void*>(ring.bytes()));
  header->head = ~uint64_t{0};
  EXPECT_EQ(ring.PositionsFrom(0), Positions());
}

TEST(Ring, IsFollowedWhileItIsWritten) {
  Ring ring(2);
  const auto view = RingView::Open(ring.view());
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->head(), 2u);
  const auto header =
      reinterpret_cast<RingHeader*>(static_cast<void*>(ring.bytes()));
  header->head = 3;
  EXPECT_EQ(view->head(), 3u);
  EXPECT_EQ(view->header().head, 2u);
}

}  // namespace
}  // namespace graphdbg::runs
