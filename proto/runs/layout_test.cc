#include "proto/runs/layout.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace graphdbg::runs {
namespace {

TEST(Layout, NamesRanks) {
  EXPECT_EQ(RankDirectory(0), "rank-00000");
  EXPECT_EQ(RankDirectory(65535), "rank-65535");
  EXPECT_EQ(ParseRankDirectory("rank-00012"), 12u);
  for (const char* other : {"", "rank-", "rank-12", "rank-000012", "rank-65536",
                            "rank--0001", "rank-0001 ", "ring.gdbr"}) {
    EXPECT_FALSE(ParseRankDirectory(other).has_value()) << other;
  }
}

TEST(Layout, NamesSegmentsByTheirFirstPosition) {
  EXPECT_EQ(SegmentFile(0), "00000000000000000000.gdbl");
  EXPECT_EQ(SegmentFile(UINT64_MAX), "18446744073709551615.gdbl");
  const auto closed = ParseSegmentFile("00000000000000000123.gdbl");
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(closed->first_position, 123u);
  EXPECT_FALSE(closed->open);
  const auto open = ParseSegmentFile("18446744073709551615.gdbl.open");
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(open->first_position, UINT64_MAX);
  EXPECT_TRUE(open->open);
}

TEST(Layout, PassesOverOtherNames) {
  for (const char* other :
       {"", ".gdbl", "123.gdbl", "99999999999999999999.gdbl",
        "+0000000000000000123.gdbl", "00000000000000000123.gdbl.part",
        "00000000000000000123.gdbl.open.open"}) {
    EXPECT_FALSE(ParseSegmentFile(other).has_value()) << other;
  }
}

TEST(Layout, NamesFilesOfTensors) {
  EXPECT_EQ(TensorFile(100, 1), "00000100.safetensors");
  EXPECT_EQ(TensorFile(123456789, 3), "123456789-3.safetensors");
  const auto second = ParseTensorFile("00000100-2.safetensors.part");
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->step, 100u);
  EXPECT_EQ(second->number, 2u);
  EXPECT_TRUE(second->part);
  for (const char* other :
       {"", ".safetensors", "1.safetensors.part.part", "-2.safetensors",
        "00000100-1.safetensors", "00000100-.safetensors", "1-2-3.safetensors",
        "00000100-4294967296.safetensors", "+1.safetensors", "1.gdbl"}) {
    EXPECT_FALSE(ParseTensorFile(other).has_value()) << other;
  }
}

}  // namespace
}  // namespace graphdbg::runs
