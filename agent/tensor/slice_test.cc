#include "agent/tensor/slice.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SliceTest : public testing::Test {
 protected:
  SliceTest() {
    for (int i = 0; i < 24; ++i) memory_[i] = static_cast<int16_t>(i);
  }

  // The elements of text applied to arange(24).reshape(2, 3, 4).
  std::vector<int16_t> Read(const std::string& text, int64_t piece = 1 << 20) {
    absl::StatusOr<Slice> slice = ParseSlice(text, shape_);
    EXPECT_TRUE(slice.ok()) << text << ": " << slice.status();
    if (!slice.ok()) return {};
    EXPECT_TRUE(CheckSlice(*slice, shape_).ok()) << text;
    result_shape_ = ShapeOf(*slice);
    TensorView view{DType::kInt16, memory_, 3, shape_.data(), nullptr};
    SliceReader reader(view, *slice);
    std::string bytes;
    while (!reader.done()) reader.Read(piece, &bytes);
    EXPECT_EQ(static_cast<int64_t>(bytes.size()), reader.total_bytes());
    std::vector<int16_t> values(bytes.size() / 2);
    std::copy(bytes.begin(), bytes.end(),
              reinterpret_cast<char*>(values.data()));
    return values;
  }

  std::string ErrorOf(const std::string& text) {
    absl::StatusOr<Slice> slice = ParseSlice(text, shape_);
    EXPECT_FALSE(slice.ok()) << text;
    if (slice.ok()) return "";
    EXPECT_EQ(std::string(*slice.status().GetPayload("graphdbg/reason")),
              "bad_slice");
    return std::string(slice.status().message());
  }

  std::vector<int64_t> shape_ = {2, 3, 4};
  std::vector<int64_t> result_shape_;
  int16_t memory_[24];
};

TEST_F(SliceTest, EmptyTextSelectsAll) {
  EXPECT_EQ(Read("").size(), 24u);
  EXPECT_EQ(Read(" [ ] ").size(), 24u);
  EXPECT_EQ(Read("...").size(), 24u);
  EXPECT_THAT(result_shape_, ElementsAre(2, 3, 4));
}

TEST_F(SliceTest, IntegersDropDimensions) {
  EXPECT_THAT(Read("[1,2,3]"), ElementsAre(23));
  EXPECT_TRUE(result_shape_.empty());
  EXPECT_THAT(Read("0, 1"), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(result_shape_, ElementsAre(4));
  EXPECT_THAT(Read("[-1,-1,-1]"), ElementsAre(23));
}

TEST_F(SliceTest, EllipsisExpandsToTheRemainingDimensions) {
  EXPECT_THAT(Read("[...,0]"), ElementsAre(0, 4, 8, 12, 16, 20));
  EXPECT_THAT(Read("[1,...,0]"), ElementsAre(12, 16, 20));
  EXPECT_THAT(Read("[1,2,...,3]"), ElementsAre(23));
}

TEST_F(SliceTest, RangesAreClippedLikeInPython) {
  EXPECT_THAT(Read("[0,0,1:3]"), ElementsAre(1, 2));
  EXPECT_THAT(Read("[0,0,-2:]"), ElementsAre(2, 3));
  EXPECT_THAT(Read("[0,0,2:100]"), ElementsAre(2, 3));
  EXPECT_THAT(Read("[0,0,-100:1]"), ElementsAre(0));
  EXPECT_TRUE(Read("[0,0,3:1]").empty());
  EXPECT_THAT(result_shape_, ElementsAre(0));
  EXPECT_TRUE(Read("[0,5:,0]").empty());
}

TEST_F(SliceTest, StepsMayBeNegative) {
  EXPECT_THAT(Read("[0,0,::2]"), ElementsAre(0, 2));
  EXPECT_THAT(Read("[0,0,::-1]"), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(Read("[0,0,2::-2]"), ElementsAre(2, 0));
  EXPECT_THAT(Read("[0,0,100:0:-3]"), ElementsAre(3));
  EXPECT_THAT(Read("[0,0,:-9223372036854775807:-1]"), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(Read("[0,0,::-9223372036854775807]"), ElementsAre(3));
  EXPECT_THAT(Read("[::-1,0,0]"), ElementsAre(12, 0));
}

TEST_F(SliceTest, PiecesAddUpToTheWhole) {
  const std::vector<int16_t> whole = Read("[:,::2,1:]");
  EXPECT_THAT(whole, ElementsAre(1, 2, 3, 9, 10, 11, 13, 14, 15, 21, 22, 23));
  for (int64_t piece : {1, 2, 4, 5, 8, 10, 100}) {
    EXPECT_EQ(Read("[:,::2,1:]", piece), whole) << piece;
  }
}

TEST_F(SliceTest, EveryPieceOfEverySliceIsInOrder) {
  for (const char* text : {"[...]", "[1:]", "[:,1:2]", "[:,:,::-1]", "[::-1]",
                           "[::-1,::-1,::-1]", "[:,::2]", "[1,:,::3]"}) {
    const Slice slice = *ParseSlice(text, shape_);
    std::vector<int16_t> expected;
    for (int64_t i = 0; i < slice[0].count; ++i) {
      for (int64_t j = 0; j < slice[1].count; ++j) {
        for (int64_t k = 0; k < slice[2].count; ++k) {
          const int64_t at = (slice[0].start + i * slice[0].step) * 12 +
                             (slice[1].start + j * slice[1].step) * 4 +
                             slice[2].start + k * slice[2].step;
          expected.push_back(static_cast<int16_t>(at));
        }
      }
    }
    for (int64_t piece : {1, 6, 10, 1000}) {
      EXPECT_EQ(Read(text, piece), expected) << text << " by " << piece;
    }
  }
}

TEST_F(SliceTest, ErrorsNameTheColumnAndTheLimit) {
  EXPECT_THAT(ErrorOf("[0,3]"),
              HasSubstr("column 4: index 3 is out of bounds for dimension 1 of "
                        "size 3"));
  EXPECT_THAT(ErrorOf("[-3]"), HasSubstr("column 2: index -3"));
  EXPECT_THAT(ErrorOf("[0,0,0,0]"),
              HasSubstr("column 8: 4 indices for a tensor of 3 dimensions"));
  EXPECT_THAT(ErrorOf("[...,...]"), HasSubstr("column 6: only one ellipsis"));
  EXPECT_THAT(ErrorOf("[0,None]"), HasSubstr("column 4: new axes"));
  EXPECT_THAT(ErrorOf("[0"), HasSubstr("column 3: expected ',' or ']'"));
  EXPECT_THAT(ErrorOf("0]"), HasSubstr("column 2"));
  EXPECT_THAT(ErrorOf("[a]"), HasSubstr("column 2: expected a number"));
  EXPECT_THAT(ErrorOf("[1.5]"), HasSubstr("column 3: expected ','"));
  EXPECT_THAT(ErrorOf("[::0]"), HasSubstr("column 4: the step must not be 0"));
  EXPECT_THAT(ErrorOf("[,]"), HasSubstr("column 2"));
  EXPECT_THAT(ErrorOf("[-]"), HasSubstr("column 3: expected digits"));
  EXPECT_THAT(ErrorOf("[99999999999999999999]"), HasSubstr("64 bits"));
}

TEST_F(SliceTest, StridedViewsAreReadByTheirStrides) {
  // The transpose of a 2x3 matrix, each row backwards.
  const std::vector<int64_t> shape = {3, 2}, strides = {-1, 3};
  TensorView view{DType::kInt16, memory_ + 2, 2, shape.data(), strides.data()};
  SliceReader reader(view, WholeSlice(shape));
  std::string bytes;
  reader.Read(100, &bytes);
  std::vector<int16_t> values(6);
  std::memcpy(values.data(), bytes.data(), 12);
  EXPECT_THAT(values, ElementsAre(2, 5, 1, 4, 0, 3));
}

TEST_F(SliceTest, SlicesFromAnotherProcessAreChecked) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  const SliceDimension all3{0, 3, 1, false}, all4{0, 4, 1, false};
  EXPECT_TRUE(CheckSlice({{1, 2, -1, false}, all3, all4}, shape_).ok());
  EXPECT_FALSE(CheckSlice({all3, all4}, shape_).ok());
  EXPECT_FALSE(CheckSlice({{0, 3, 1, false}, all3, all4}, shape_).ok());
  EXPECT_FALSE(CheckSlice({{0, -1, 1, false}, all3, all4}, shape_).ok());
  EXPECT_FALSE(CheckSlice({{0, 2, 1, true}, all3, all4}, shape_).ok());
  EXPECT_FALSE(CheckSlice({{0, huge, 0, false}, all3, all4}, shape_).ok());
  EXPECT_FALSE(CheckSlice({{0, huge, huge, false}, all3, all4}, shape_).ok());
  EXPECT_FALSE(CheckSlice({{0, 2, -1, false}, all3, all4}, shape_).ok());
}

}  // namespace
}  // namespace graphdbg
