#include "server/tensor/block_map.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "server/base/error.h"

namespace graphdbg::tensor {
namespace {

using Floats = std::vector<float>;

Numbers Of(const std::vector<float>& values, const char* dtype = "float32") {
  return *Numbers::Of(
      model::ParseTensorType(dtype, {}),
      std::string_view(reinterpret_cast<const char*>(values.data()),
                       values.size() * sizeof(float)));
}

TEST(BlockMapTest, ABlockHasWhatItsElementsHave) {
  BlockMap map({3, 5}, 2, 3);
  EXPECT_EQ(map.block().rows, 2u);
  EXPECT_EQ(map.block().columns, 2u);
  EXPECT_EQ(map.blocks().rows, 2u);
  EXPECT_EQ(map.blocks().columns, 3u);
  // clang-format off
  map.Add(Of({1, -5, 2, 2, INFINITY,
              3,  4, 2, NAN, 7}));
  map.Add(Of({0, 0, -1, 1, -INFINITY}));
  // clang-format on
  const BlockMap::Values values = map.Finish();
  EXPECT_EQ(values.extreme[0], -5);
  EXPECT_TRUE(std::isnan(values.extreme[1]));
  EXPECT_EQ(values.extreme[2], INFINITY);
  EXPECT_EQ(values.extreme[5], -INFINITY);
  EXPECT_EQ(values.min[0], -5);
  EXPECT_EQ(values.max[0], 4);
  EXPECT_EQ(values.mean[0], 0.75);
  EXPECT_EQ(values.mean[1], 2);
  EXPECT_EQ(values.mean[2], 7);
  EXPECT_TRUE(std::isnan(values.mean[5]));
  EXPECT_EQ(values.non_finite, (Floats{0, 1, 1, 0, 0, 1}));
}

TEST(BlockMapTest, TheGridIsThatOfTheSlice) {
  EXPECT_EQ(GridOf({2, 3, 5}).rows, 6u);
  EXPECT_EQ(GridOf({2, 3, 5}).columns, 5u);
  EXPECT_EQ(GridOf({10}).columns, 4u);
  EXPECT_EQ(GridOf({10}).rows, 3u);
  EXPECT_EQ(GridOf({}).rows, 1u);
  EXPECT_EQ(GridOf({0, 4}).rows, 0u);
  EXPECT_TRUE(BlockMap(GridOf({0, 4}), 9, 9).Finish().extreme.empty());
}

TEST(BlockMapTest, EqualNumbersDoNotDiffer) {
  BlockMap map({1, 4}, 1, 4);
  ASSERT_TRUE(
      map.AddDifference(Of({NAN, INFINITY, 3, NAN}), Of({NAN, INFINITY, 5, 1}))
          .ok());
  const Floats extreme = map.Finish().extreme;
  EXPECT_EQ(extreme[0], 0);
  EXPECT_EQ(extreme[1], 0);
  EXPECT_EQ(extreme[2], -2);
  EXPECT_TRUE(std::isnan(extreme[3]));
}

TEST(BlockMapTest, DistancesAreInUnitsOfTheLastPlace) {
  const float next = std::nextafter(1.0F, 2.0F);
  BlockMap map({1, 3}, 1, 3);
  ASSERT_TRUE(map.AddUlps(Of({1, NAN, NAN}), Of({next, NAN, 1})).ok());
  const Floats extreme = map.Finish().extreme;
  EXPECT_EQ(extreme[0], 1);
  EXPECT_EQ(extreme[1], 0);
  EXPECT_TRUE(std::isnan(extreme[2]));
  EXPECT_EQ(
      ReasonOf(
          BlockMap({1, 1}, 1, 1).AddUlps(Of({1}, "int32"), Of({1}, "int32"))),
      "no_ulps");
  EXPECT_EQ(ReasonOf(BlockMap({1, 1}, 1, 1).AddUlps(Of({1}), Of({1, 2}))),
            "shapes_differ");
}

TEST(BlockMapTest, AComplexElementIsItsMagnitude) {
  BlockMap map({1, 2}, 1, 2);
  map.Add(Of({3, 4, 0, -1}, "complex64"));
  EXPECT_EQ(map.Finish().extreme, (Floats{5, 1}));
}

TEST(BlockMapTest, LargeNumbersStayFinite) {
  const double large = 1e300;
  BlockMap map({1, 1}, 1, 1);
  map.Add(large);
  EXPECT_EQ(map.Finish().extreme, Floats{FLT_MAX});
}

}  // namespace
}  // namespace graphdbg::tensor
