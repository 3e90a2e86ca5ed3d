#include "server/tensor/element_range.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace graphdbg::tensor {
namespace {

using Shape = std::vector<int64_t>;

std::vector<std::string> Texts(const Shape& shape, uint64_t begin,
                               uint64_t end) {
  std::vector<std::string> texts;
  for (const auto& piece : PiecesOf(WholeSlice(shape), begin, end)) {
    texts.push_back(piece.slice);
  }
  return texts;
}

// The elements that a slice of this text selects, of a tensor that counts its
// elements.
std::string Select(const Shape& shape, const Slice& slice) {
  std::string elements(static_cast<size_t>(ElementCount(WholeSlice(shape))),
                       '\0');
  std::iota(elements.begin(), elements.end(), '\0');
  const TensorView view{DType::kUint8, elements.data(), shape.size(),
                        shape.data(), nullptr};
  SliceReader reader(view, slice);
  std::string selected;
  while (!reader.done()) reader.Read(1 << 20, &selected);
  return selected;
}

TEST(ElementRangeTest, TakesWholeRowsWhereItCan) {
  using Strings = std::vector<std::string>;
  EXPECT_EQ(Texts({4, 10}, 8, 32), (Strings{"0,8:10", "1:3,0:10", "3,0:2"}));
  EXPECT_EQ(Texts({4, 10}, 0, 40), Strings{"0:4,0:10"});
  EXPECT_EQ(Texts({100, 1000}, 5004, 5008), Strings{"5,4:8"});
  EXPECT_EQ(Texts({}, 0, 1), Strings{""});
  EXPECT_TRUE(Texts({4}, 2, 2).empty());
}

TEST(ElementRangeTest, ThePiecesAreTheRangeInAnySlice) {
  const Shape shape = {3, 4, 5};
  for (const char* text :
       {"", "1", ":,2", "::-1,1:3,::2", "[2,::-1,-1::-2]", "0:1,3:4,4:5"}) {
    const auto slice = ParseSlice(text, shape);
    ASSERT_TRUE(slice.ok()) << text;
    const std::string all = Select(shape, *slice);
    for (uint64_t begin = 0; begin <= all.size(); ++begin) {
      for (uint64_t end = begin; end <= all.size(); ++end) {
        std::string joined;
        for (const auto& piece : PiecesOf(*slice, begin, end)) {
          const auto parsed = ParseSlice(piece.slice, shape);
          ASSERT_TRUE(parsed.ok()) << piece.slice;
          const std::string selected = Select(shape, *parsed);
          EXPECT_EQ(selected.size(), piece.elements) << piece.slice;
          joined += selected;
        }
        EXPECT_EQ(joined, all.substr(begin, end - begin))
            << text << " " << begin << " " << end;
      }
    }
  }
}

}  // namespace
}  // namespace graphdbg::tensor
