#include "agent/core/previous_values.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "agent/tensor/slice.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using ::testing::ElementsAre;

graphdbg_tensor TensorOf(const std::vector<float>& values,
                         const std::vector<int64_t>& shape,
                         const std::vector<int64_t>& strides = {}) {
  graphdbg_tensor tensor = {};
  tensor.struct_size = sizeof(tensor);
  tensor.dtype = GRAPHDBG_FLOAT32;
  tensor.data = values.data();
  tensor.ndim = static_cast<uint32_t>(shape.size());
  tensor.shape = shape.data();
  tensor.strides = strides.empty() ? nullptr : strides.data();
  tensor.framework_dtype = "toy.float32";
  return tensor;
}

std::vector<float> FloatsOf(const std::shared_ptr<const PreviousValue>& value) {
  if (value == nullptr) return {};
  const TensorView view = value->view();
  std::vector<float> values(static_cast<size_t>(*view.element_count()));
  if (values.empty()) return values;
  std::string bytes;
  SliceReader(view, WholeSlice({view.shape, view.shape + view.ndim}))
      .Read(static_cast<int64_t>(values.size() * sizeof(float)), &bytes);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(PreviousValuesTest, AreThoseOfTheStepBefore) {
  PreviousValues kept(/*generations=*/2, 1000);
  kept.Keep(1, 0, TensorOf({1, 2}, {2}), 3);
  EXPECT_EQ(kept.Before(3, 1, 0), nullptr);
  EXPECT_THAT(FloatsOf(kept.Before(4, 1, 0)), ElementsAre(1, 2));
  kept.Keep(1, 0, TensorOf({3, 4}, {2}), 4);
  EXPECT_THAT(FloatsOf(kept.Before(4, 1, 0)), ElementsAre(1, 2));
  EXPECT_THAT(FloatsOf(kept.Before(5, 1, 0)), ElementsAre(3, 4));
  kept.Keep(1, 0, TensorOf({5, 6}, {2}), 5);
  EXPECT_EQ(kept.Before(4, 1, 0), nullptr);
  EXPECT_EQ(kept.Before(5, 1, 0)->step(), 4u);
  EXPECT_EQ(kept.bytes(), 16);
  EXPECT_EQ(kept.Before(5, 1, 1), nullptr);
  EXPECT_EQ(kept.Before(5, 2, 0), nullptr);
}

TEST(PreviousValuesTest, AnExecutionOfTheSameStepReplaces) {
  PreviousValues kept(2, 1000);
  kept.Keep(1, 0, TensorOf({1}, {1}), 1);
  kept.Keep(1, 0, TensorOf({2}, {1}), 2);
  kept.Keep(1, 0, TensorOf({3}, {1}), 2);
  EXPECT_THAT(FloatsOf(kept.Before(2, 1, 0)), ElementsAre(1));
  EXPECT_THAT(FloatsOf(kept.Before(3, 1, 0)), ElementsAre(3));
}

TEST(PreviousValuesTest, AreDenseWhateverTheStrides) {
  PreviousValues kept(1, 1000);
  // A transposed 2x3 matrix, a scalar, and an empty tensor.
  kept.Keep(1, 0, TensorOf({1, 2, 3, 4, 5, 6}, {3, 2}, {1, 3}), 1);
  EXPECT_THAT(FloatsOf(kept.Before(2, 1, 0)), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_STREQ(kept.Before(2, 1, 0)->tensor().framework_dtype, "toy.float32");
  // Every other element; two rows at the same address; negative strides.
  kept.Keep(4, 0, TensorOf({1, 2, 3, 4, 5}, {3}, {2}), 1);
  EXPECT_THAT(FloatsOf(kept.Before(2, 4, 0)), ElementsAre(1, 3, 5));
  kept.Keep(5, 0, TensorOf({1, 2}, {2, 2}, {0, 1}), 1);
  EXPECT_THAT(FloatsOf(kept.Before(2, 5, 0)), ElementsAre(1, 2, 1, 2));
  const std::vector<float> values = {1, 2, 3};
  const std::vector<int64_t> shape = {3}, backwards = {-1};
  graphdbg_tensor tensor = TensorOf(values, shape, backwards);
  tensor.data = &values[2];
  kept.Keep(6, 0, tensor, 1);
  EXPECT_THAT(FloatsOf(kept.Before(2, 6, 0)), ElementsAre(3, 2, 1));
  EXPECT_EQ(kept.bytes(), (6 + 3 + 2 + 3) * 4);
  kept.Keep(2, 0, TensorOf({7}, {}), 1);
  EXPECT_THAT(FloatsOf(kept.Before(2, 2, 0)), ElementsAre(7));
  kept.Keep(3, 0, TensorOf({}, {0, 4}, {4, 1}), 1);
  EXPECT_THAT(FloatsOf(kept.Before(2, 3, 0)), ElementsAre());
  EXPECT_NE(kept.Before(2, 3, 0), nullptr);
}

TEST(PreviousValuesTest, WhatDoesNotFitTheBudgetIsNotKept) {
  PreviousValues kept(1, 12);
  kept.Keep(1, 0, TensorOf({1, 2}, {2}), 1);
  kept.Keep(2, 0, TensorOf({1, 2}, {2}), 1);
  EXPECT_NE(kept.Before(2, 1, 0), nullptr);
  EXPECT_EQ(kept.Before(2, 2, 0), nullptr);
  EXPECT_EQ(kept.bytes(), 8);
  kept.DropOlderThan(2);
  EXPECT_EQ(kept.bytes(), 0);
  kept.Keep(2, 0, TensorOf({1, 2}, {2}), 2);
  EXPECT_NE(kept.Before(3, 2, 0), nullptr);
}

TEST(PreviousValuesTest, WhoeverReadsOneGoesOnReadingIt) {
  PreviousValues kept(1, 1000);
  kept.Keep(1, 0, TensorOf({1}, {1}), 1);
  const auto read = kept.Before(2, 1, 0);
  kept.Keep(1, 0, TensorOf({2}, {1}), 2);
  EXPECT_THAT(FloatsOf(read), ElementsAre(1));
  EXPECT_THAT(FloatsOf(kept.Before(3, 1, 0)), ElementsAre(2));
  kept.Clear();
  EXPECT_EQ(kept.Before(3, 1, 0), nullptr);
}

TEST(PreviousValuesTest, ViewsGiveBuffersBack) {
  PreviousValues kept(/*generations=*/2, 1000);
  const std::vector<float> values = {1, 2, 3, 4};
  std::vector<const void*> buffers;
  for (uint64_t step = 1; step <= 9; ++step) {
    const auto copy = kept.Keep(1, 0, TensorOf(values, {4}), step);
    buffers.push_back(copy->view().data);
    kept.Keep(2, 0, TensorOf(values, {2, 2}), step, copy);
    EXPECT_EQ(FloatsOf(kept.Before(step + 1, 2, 0)), values);
  }
  // Two are in use, and one is spare.
  EXPECT_EQ(buffers[8], buffers[5]);
  EXPECT_EQ(kept.bytes(), 3 * 16);
  kept.Clear();
  EXPECT_EQ(kept.bytes(), 0);
}

TEST(PreviousValuesTest, SpareBuffersMakeRoom) {
  PreviousValues kept(/*generations=*/1, /*budget_bytes=*/32);
  const std::vector<float> values = {1, 2, 3, 4};
  for (uint64_t step = 1; step <= 2; ++step) {
    const auto copy = kept.Keep(1, 0, TensorOf(values, {4}), step);
    kept.Keep(2, 0, TensorOf(values, {2, 2}), step, copy);
  }
  EXPECT_EQ(kept.bytes(), 32);
  EXPECT_NE(kept.Keep(3, 0, TensorOf(values, {4}), 3), nullptr);
  EXPECT_EQ(kept.bytes(), 32);
}

TEST(PreviousValuesTest, ValuesThatCannotBeReadAreNotKept) {
  PreviousValues kept(1, 1000);
  const std::vector<float> values = {1};
  const std::vector<int64_t> shape = {1};
  graphdbg_tensor tensor = TensorOf(values, shape);
  tensor.dtype = GRAPHDBG_DTYPE_OTHER;
  kept.Keep(1, 0, tensor, 1);
  EXPECT_EQ(kept.Before(2, 1, 0), nullptr);
  tensor = TensorOf(values, shape);
  tensor.device = GRAPHDBG_CUDA;
  kept.Keep(1, 0, tensor, 1);
  EXPECT_EQ(kept.Before(2, 1, 0), nullptr);
}

}  // namespace
}  // namespace graphdbg::agent
