#include "server/tensor/piece_plan.h"

#include <gtest/gtest.h>

namespace graphdbg::tensor {
namespace {

using Strings = std::vector<std::string>;
using Shape = std::vector<int64_t>;

Strings Slices(const Shape& shape, const Slice& slice, uint64_t item_bytes,
               uint64_t max_bytes) {
  PiecePlan plan(shape, slice, item_bytes, max_bytes);
  Strings slices;
  uint64_t elements = 0;
  while (auto piece = plan.Next()) {
    slices.push_back(piece->slice);
    elements += piece->elements;
    const auto parsed = ParseSlice(piece->slice, shape);
    EXPECT_TRUE(parsed.ok()) << piece->slice;
    if (!parsed.ok()) continue;
    EXPECT_EQ(static_cast<uint64_t>(ElementCount(*parsed)), piece->elements);
  }
  EXPECT_EQ(elements, static_cast<uint64_t>(ElementCount(slice)));
  return slices;
}

Strings Slices(const Shape& shape, uint64_t item_bytes, uint64_t max_bytes) {
  return Slices(shape, WholeSlice(shape), item_bytes, max_bytes);
}

TEST(PiecePlanTest, CutsTheFirstDimensionWhoseRowsAreSmallEnough) {
  EXPECT_EQ(Slices({10}, 4, 16), (Strings{"0:4", "4:8", "8:10"}));
  EXPECT_EQ(Slices({5, 4}, 1, 8), (Strings{"0:2", "2:4", "4:5"}));
  EXPECT_EQ(Slices({2, 1000, 8}, 4, 16'000),
            (Strings{"0,0:500", "0,500:1000", "1,0:500", "1,500:1000"}));
  EXPECT_EQ(Slices({2, 2, 3}, 4, 8),
            (Strings{"0,0,0:2", "0,0,2:3", "0,1,0:2", "0,1,2:3", "1,0,0:2",
                     "1,0,2:3", "1,1,0:2", "1,1,2:3"}));
}

TEST(PiecePlanTest, IsOnePieceIfThatIsEnough) {
  EXPECT_EQ(Slices({5, 4}, 2, 40), Strings{"0:5"});
  EXPECT_EQ(Slices({}, 8, 1), Strings{""});
  EXPECT_EQ(Slices({1, 1, 1}, 8, 1'000), Strings{"0:1"});
}

TEST(PiecePlanTest, HasNoPiecesWithoutElements) {
  EXPECT_TRUE(Slices({0}, 4, 16).empty());
  EXPECT_TRUE(Slices({3, 0, 2}, 4, 16).empty());
}

TEST(PiecePlanTest, GivesAtLeastAnElement) {
  EXPECT_EQ(Slices({2, 1}, 16, 1), (Strings{"0:1", "1:2"}));
}

// The pieces of a slice have its elements, in its order.
TEST(PiecePlanTest, CutsSlices) {
  const Shape shape = {4, 5, 6};
  std::vector<char> elements(4 * 5 * 6);
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = static_cast<char>(i);
  }
  const TensorView view{DType::kUint8, elements.data(), shape.size(),
                        shape.data(), nullptr};
  const auto read = [&](const std::string& text) {
    std::string out;
    SliceReader reader(view, *ParseSlice(text, shape));
    while (!reader.done()) reader.Read(1'000, &out);
    return out;
  };
  for (const char* text :
       {"", "[2]", "[:,3]", "[...,1]", "[::-1]", "[3:0:-2,1:4]", "[1:3,::2,4:]",
        "[...,::-1]", "[1,2,3]", "[:,4:0:-3,5]", "[2:2]"}) {
    const Slice slice = *ParseSlice(text, shape);
    for (uint64_t max_bytes : {1, 2, 3, 5, 7, 12, 1'000}) {
      std::string joined;
      for (const std::string& piece : Slices(shape, slice, 1, max_bytes)) {
        joined += read(piece);
      }
      EXPECT_EQ(joined, read(text)) << text << " by " << max_bytes;
    }
  }
}

}  // namespace
}  // namespace graphdbg::tensor
