#include "server/tensor/piece_plan.h"

#include <gtest/gtest.h>

namespace graphdbg::tensor {
namespace {

using Strings = std::vector<std::string>;

Strings Slices(PiecePlan plan) {
  Strings slices;
  uint64_t bytes = 0;
  while (auto piece = plan.Next()) {
    slices.push_back(piece->slice);
    bytes += piece->bytes;
  }
  EXPECT_EQ(bytes, plan.total_bytes());
  return slices;
}

TEST(PiecePlanTest, CutsTheFirstDimensionWhoseRowsAreSmallEnough) {
  EXPECT_EQ(Slices(PiecePlan({10}, 4, 16)), (Strings{"0:4", "4:8", "8:10"}));
  EXPECT_EQ(Slices(PiecePlan({5, 4}, 1, 8)), (Strings{"0:2", "2:4", "4:5"}));
  EXPECT_EQ(Slices(PiecePlan({2, 1000, 8}, 4, 16'000)),
            (Strings{"0,0:500", "0,500:1000", "1,0:500", "1,500:1000"}));
  EXPECT_EQ(Slices(PiecePlan({2, 2, 3}, 4, 8)),
            (Strings{"0,0,0:2", "0,0,2:3", "0,1,0:2", "0,1,2:3", "1,0,0:2",
                     "1,0,2:3", "1,1,0:2", "1,1,2:3"}));
}

TEST(PiecePlanTest, IsOnePieceIfThatIsEnough) {
  EXPECT_EQ(Slices(PiecePlan({5, 4}, 2, 40)), Strings{"0:5"});
  EXPECT_EQ(Slices(PiecePlan({}, 8, 1)), Strings{""});
  EXPECT_EQ(Slices(PiecePlan({1, 1, 1}, 8, 1'000)), Strings{"0:1"});
}

TEST(PiecePlanTest, HasNoPiecesWithoutElements) {
  EXPECT_TRUE(Slices(PiecePlan({0}, 4, 16)).empty());
  EXPECT_TRUE(Slices(PiecePlan({3, 0, 2}, 4, 16)).empty());
}

TEST(PiecePlanTest, GivesAtLeastAnElement) {
  EXPECT_EQ(Slices(PiecePlan({2, 1}, 16, 1)), (Strings{"0,0:1", "1,0:1"}));
}

}  // namespace
}  // namespace graphdbg::tensor
