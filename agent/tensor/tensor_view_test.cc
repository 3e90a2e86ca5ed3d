#include "agent/tensor/tensor_view.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace graphdbg {
namespace {

TensorView View(DType dtype, const std::vector<int64_t>& shape) {
  TensorView view;
  view.dtype = dtype;
  view.ndim = shape.size();
  view.shape = shape.data();
  return view;
}

TEST(DTypeTest, NumbersOutOfRangeAreOther) {
  EXPECT_EQ(DTypeFromNumber(12), DType::kFloat32);
  EXPECT_EQ(DTypeFromNumber(-1), DType::kOther);
  EXPECT_EQ(DTypeFromNumber(1000), DType::kOther);
  EXPECT_EQ(ItemSize(static_cast<DType>(200)), 0u);
}

TEST(DTypeTest, NamesAreThoseOfNumpy) {
  EXPECT_STREQ(ToString(DType::kBool), "bool");
  EXPECT_STREQ(ToString(DType::kUint8), "uint8");
  EXPECT_STREQ(ToString(DType::kBfloat16), "bfloat16");
  EXPECT_STREQ(ToString(DType::kComplex128), "complex128");
  EXPECT_STREQ(ToString(DType::kFloat8E5m2), "float8_e5m2");
}

TEST(DTypeTest, EveryNameParsesToItsType) {
  for (int number = 0; number <= static_cast<int>(DType::kFloat8E5m2);
       ++number) {
    const DType dtype = DTypeFromNumber(number);
    EXPECT_EQ(ParseDType(ToString(dtype)), dtype) << ToString(dtype);
  }
  EXPECT_EQ(ParseDType("float"), std::nullopt);
  EXPECT_EQ(ParseDType(""), std::nullopt);
}

TEST(TensorViewTest, KnowsRowMajorOrderByItsStrides) {
  std::vector<int64_t> shape = {2, 1, 3}, strides = {3, 99, 1};
  TensorView view = View(DType::kFloat32, shape);
  EXPECT_TRUE(view.row_major());
  view.strides = strides.data();
  EXPECT_TRUE(view.row_major());
  strides = {1, 1, 2};
  EXPECT_FALSE(view.row_major());
  shape = {2, 0, 3};
  EXPECT_TRUE(view.row_major());
}

TEST(DTypeTest, SizesAreInBytes) {
  EXPECT_EQ(ItemSize(DType::kBool), 1u);
  EXPECT_EQ(ItemSize(DType::kBfloat16), 2u);
  EXPECT_EQ(ItemSize(DType::kFloat64), 8u);
  EXPECT_EQ(ItemSize(DType::kComplex128), 16u);
  EXPECT_EQ(ItemSize(DType::kOther), 0u);
}

TEST(TensorViewTest, CountsElementsAndBytes) {
  EXPECT_EQ(View(DType::kFloat32, {}).element_count(), 1);
  EXPECT_EQ(View(DType::kFloat32, {2, 3}).byte_count(), 24);
  EXPECT_EQ(View(DType::kFloat32, {2, 0, 3}).byte_count(), 0);
}

TEST(TensorViewTest, ImpossibleShapesHaveNoCount) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(View(DType::kFloat32, {-1}).element_count(), std::nullopt);
  EXPECT_EQ(View(DType::kFloat32, {huge, 2}).element_count(), std::nullopt);
  EXPECT_EQ(View(DType::kFloat32, {huge}).byte_count(), std::nullopt);
  EXPECT_EQ(View(DType::kFloat32, std::vector<int64_t>(65, 1)).element_count(),
            std::nullopt);
}

}  // namespace
}  // namespace graphdbg
