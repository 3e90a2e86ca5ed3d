#include "proto/runs/last_ops.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace graphdbg::runs {
namespace {

class LastOpsTest : public testing::Test {
 protected:
  LastOpsTest() : file_(kLastOpsFileBytes, '\0') {
    const LastOpsHeader header;
    std::memcpy(file_.data(), &header, sizeof(header));
  }

  void Put(uint32_t at, const LastOpSlot& slot) {
    std::memcpy(&file_[kLastOpsHeaderBytes + at * kLastOpSlotBytes], &slot,
                sizeof(slot));
  }

  static LastOpSlot SlotOf(uint32_t node, uint64_t step, uint64_t sequence) {
    LastOpSlot slot{};
    slot.thread = 100 + node;
    slot.node = node;
    slot.step = step;
    slot.sequence = sequence;
    return slot;
  }

  std::string file_;
};

TEST_F(LastOpsTest, UnfinishedOpsComeFirstAndThenTheNewest) {
  Put(0, SlotOf(1, 7, 4));
  Put(3, SlotOf(2, 5, 9));
  Put(5, SlotOf(3, 8, 2));
  const auto ops = ReadLastOps(file_);
  ASSERT_TRUE(ops.ok()) << ops.status();
  ASSERT_EQ(ops->size(), 3u);
  EXPECT_EQ((*ops)[0].node, 2u);
  EXPECT_TRUE((*ops)[0].unfinished);
  EXPECT_EQ((*ops)[0].thread, 102u);
  EXPECT_EQ((*ops)[1].node, 3u);
  EXPECT_FALSE((*ops)[1].unfinished);
  EXPECT_EQ((*ops)[2].node, 1u);
}

TEST_F(LastOpsTest, TheNameOfAnotherNodeIsPassedOver) {
  LastOpSlot slot = SlotOf(4, 1, 1);
  slot.text_node = 4;
  slot.name_bytes = 2;
  slot.file_bytes = 4;
  slot.line = 12;
  std::memcpy(slot.text, "opa.py", 6);
  Put(0, slot);
  slot.text_node = 3;
  Put(1, slot);
  // More than there is room for.
  slot.text_node = 4;
  slot.file_bytes = 65'000;
  Put(2, slot);
  const auto ops = ReadLastOps(file_);
  ASSERT_TRUE(ops.ok()) << ops.status();
  ASSERT_EQ(ops->size(), 3u);
  EXPECT_EQ((*ops)[0].name, "op");
  EXPECT_EQ((*ops)[0].file, "a.py");
  EXPECT_EQ((*ops)[0].line, 12u);
  EXPECT_EQ((*ops)[1].name, "");
  EXPECT_EQ((*ops)[2].name, "");
}

TEST_F(LastOpsTest, OtherFilesAreRefused) {
  EXPECT_FALSE(ReadLastOps("").ok());
  EXPECT_FALSE(ReadLastOps(file_.substr(0, 511)).ok());
  EXPECT_FALSE(ReadLastOps(file_.substr(0, 4096)).ok());
  std::string other = file_;
  other[7] = 2;
  EXPECT_FALSE(ReadLastOps(other).ok());
  other = file_;
  other[19] = '\x7f';
  EXPECT_FALSE(ReadLastOps(other).ok());
}

}  // namespace
}  // namespace graphdbg::runs
