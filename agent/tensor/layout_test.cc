#include "agent/tensor/layout.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

namespace graphdbg {
namespace {

class LayoutTest : public testing::Test {
 protected:
  LayoutTest() {
    for (size_t i = 0; i < memory_.size(); ++i) {
      memory_[i] = static_cast<int32_t>(i);
    }
  }

  Layout Make(int64_t offset, const std::vector<int64_t>& shape,
              const std::vector<int64_t>& strides) {
    TensorView view{DType::kInt32, memory_.data() + offset, shape.size(),
                    shape.data(), strides.empty() ? nullptr : strides.data()};
    return *Layout::Of(view);
  }

  // All elements in ascending order.
  std::vector<int32_t> Elements(const Layout& layout) {
    std::vector<int32_t> elements;
    for (RunWalker walker(layout, 4); !walker.done(); walker.Next()) {
      const auto* run = reinterpret_cast<const int32_t*>(walker.run());
      elements.insert(elements.end(), run, run + layout.run_length());
    }
    std::sort(elements.begin(), elements.end());
    return elements;
  }

  std::vector<int32_t> memory_ = std::vector<int32_t>(64);
};

TEST_F(LayoutTest, ContiguousIsOneRun) {
  const Layout layout = Make(0, {2, 3, 4}, {});
  EXPECT_EQ(layout.ndim, 1u);
  EXPECT_EQ(layout.run_length(), 24);
}

TEST_F(LayoutTest, TransposedIsOneRun) {
  EXPECT_EQ(Make(0, {4, 3}, {1, 4}).run_length(), 12);
}

TEST_F(LayoutTest, ColumnsAreShortRuns) {
  const Layout layout = Make(1, {3, 2}, {8, 1});
  EXPECT_EQ(layout.run_length(), 2);
  EXPECT_EQ(Elements(layout), (std::vector<int32_t>{1, 2, 9, 10, 17, 18}));
}

TEST_F(LayoutTest, StepsAreSingleElements) {
  const Layout layout = Make(0, {2, 3}, {20, 2});
  EXPECT_EQ(layout.run_length(), 1);
  EXPECT_EQ(Elements(layout), (std::vector<int32_t>{0, 2, 4, 20, 22, 24}));
}

TEST_F(LayoutTest, NegativeStridesCoverTheSameElements) {
  const Layout layout = Make(11, {3, 4}, {-4, -1});
  EXPECT_EQ(layout.run_length(), 12);
  EXPECT_EQ(Elements(layout).front(), 0);
  EXPECT_EQ(Elements(layout).back(), 11);
}

TEST_F(LayoutTest, BroadcastDimensionsAreMultiplicity) {
  const Layout layout = Make(0, {5, 3, 7}, {0, 1, 0});
  EXPECT_EQ(layout.multiplicity, 35);
  EXPECT_EQ(layout.count, 3);
  EXPECT_EQ(Elements(layout), (std::vector<int32_t>{0, 1, 2}));
}

TEST_F(LayoutTest, ScalarsAndEmptyTensors) {
  EXPECT_EQ(Elements(Make(5, {}, {})), (std::vector<int32_t>{5}));
  EXPECT_EQ(Elements(Make(5, {1, 1}, {7, 9})), (std::vector<int32_t>{5}));
  EXPECT_TRUE(Elements(Make(0, {3, 0}, {})).empty());
}

TEST_F(LayoutTest, OverlappingViewsCountEachOccurrence) {
  EXPECT_EQ(Elements(Make(0, {3, 2}, {1, 1})),
            (std::vector<int32_t>{0, 1, 1, 2, 2, 3}));
}

}  // namespace
}  // namespace graphdbg
