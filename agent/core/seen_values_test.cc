#include "agent/core/seen_values.h"

#include <vector>

#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

constexpr uint64_t kStorage = 7;
constexpr int64_t kRows = 400;
constexpr int64_t kColumns = 60;

// A float32 matrix and views of it.
class SeenValuesTest : public testing::Test {
 protected:
  struct Tensor : graphdbg_tensor {
    std::vector<int64_t> sizes;
    std::vector<int64_t> steps;
  };

  Tensor View(std::vector<int64_t> sizes, std::vector<int64_t> strides,
              int64_t offset = 0) {
    Tensor view = {};
    view.sizes = std::move(sizes);
    view.steps = std::move(strides);
    view.struct_size = sizeof(graphdbg_tensor);
    view.dtype = GRAPHDBG_FLOAT32;
    view.data = memory_.data() + offset;
    view.ndim = static_cast<uint32_t>(view.sizes.size());
    view.shape = view.sizes.data();
    view.strides = view.steps.data();
    view.storage_id = kStorage;
    return view;
  }
  Tensor Whole() { return View({kRows, kColumns}, {kColumns, 1}); }
  Tensor Transposed() { return View({kColumns, kRows}, {1, kColumns}); }
  Tensor Rows(int64_t count) { return View({count, kColumns}, {kColumns, 1}); }
  Tensor Twice() { return View({2, kRows, kColumns}, {0, kColumns, 1}); }

  static conditions::ScanResult Pass() {
    return {true, Sketch{24000, -1, 1, {}, {}}};
  }

  std::vector<float> memory_ = std::vector<float>(kRows * kColumns);
  SeenValues seen_;
};

TEST_F(SeenValuesTest, NothingIsKnownOfWhatWasNotSeen) {
  const SeenValues::Seen seen = seen_.Find(Whole());
  EXPECT_FALSE(seen.scan.all_finite);
  EXPECT_FALSE(seen.scan.sketch);
  EXPECT_EQ(seen.copy, nullptr);
}

TEST_F(SeenValuesTest, TheSameElementsInAnotherOrderAreKnown) {
  seen_.Put(Whole(), Pass());
  EXPECT_TRUE(seen_.Find(Transposed()).scan.all_finite);
  ASSERT_TRUE(seen_.Find(Transposed()).scan.sketch);
  EXPECT_EQ(seen_.Find(Transposed()).scan.sketch->max, 1);
}

TEST_F(SeenValuesTest, OfSomeOfThemOnlyThatTheyAreFinite) {
  seen_.Put(Whole(), Pass());
  for (const Tensor& part : {Rows(360), Twice()}) {
    EXPECT_TRUE(seen_.Find(part).scan.all_finite);
    EXPECT_FALSE(seen_.Find(part).scan.sketch);
  }
}

TEST_F(SeenValuesTest, WhatLiesOutsideIsNotKnown) {
  seen_.Put(Rows(360), Pass());
  EXPECT_FALSE(seen_.Find(Whole()).scan.all_finite);
  EXPECT_FALSE(seen_.Find(View({320, kColumns}, {kColumns, 1}, 80 * kColumns))
                   .scan.all_finite);
}

TEST_F(SeenValuesTest, APartDoesNotReplaceTheWhole) {
  seen_.Put(Whole(), Pass());
  seen_.Put(Rows(360), {});
  EXPECT_TRUE(seen_.Find(Whole()).scan.all_finite);
}

TEST_F(SeenValuesTest, AWriteEndsIt) {
  seen_.Put(Whole(), Pass());
  seen_.RecordWrite(kStorage + 1);
  EXPECT_TRUE(seen_.Find(Whole()).scan.all_finite);
  seen_.RecordWrite(kStorage);
  EXPECT_FALSE(seen_.Find(Whole()).scan.all_finite);
  seen_.Put(Rows(360), Pass());
  EXPECT_TRUE(seen_.Find(Rows(320)).scan.all_finite);
}

TEST_F(SeenValuesTest, AStepsEndEndsIt) {
  seen_.Put(Whole(), Pass());
  seen_.Clear();
  EXPECT_FALSE(seen_.Find(Whole()).scan.all_finite);
}

TEST_F(SeenValuesTest, OtherReadingsOfTheSameBytesAreNotKnown) {
  seen_.Put(Whole(), Pass());
  Tensor bits = Whole();
  bits.dtype = GRAPHDBG_INT32;
  EXPECT_FALSE(seen_.Find(bits).scan.all_finite);
}

TEST_F(SeenValuesTest, GapsAreNotKnown) {
  const Tensor left = View({kRows, kColumns - 1}, {kColumns, 1});
  seen_.Put(left, Pass());
  EXPECT_FALSE(seen_.Find(left).scan.all_finite);
}

TEST_F(SeenValuesTest, ViewsShareACopy) {
  for (size_t i = 0; i < memory_.size(); ++i) {
    memory_[i] = static_cast<float>(i);
  }
  PreviousValues values(/*generations=*/1, 1 << 20);
  seen_.Put(Whole(), Pass());
  seen_.PutCopy(Whole(), values.Keep(1, 0, Whole(), 1));
  const int64_t bytes = values.bytes();
  EXPECT_EQ(bytes, kRows * kColumns * 4);

  // The rows from the second on, transposed.
  Tensor view = View({kColumns, kRows - 2}, {1, kColumns}, 2 * kColumns);
  values.Keep(2, 0, view, 1, seen_.Find(view).copy);
  EXPECT_EQ(values.bytes(), bytes);
  memory_.assign(memory_.size(), -1);
  // The value of the next step does not reuse the bytes.
  values.Keep(1, 0, Whole(), 2);
  const auto before = values.Before(2, 2, 0);
  ASSERT_NE(before, nullptr);
  const TensorView shown = before->view();
  const auto* const first = static_cast<const float*>(shown.data);
  EXPECT_EQ(first[0], 2 * kColumns);
  EXPECT_EQ(first[3 * shown.strides[0] + 5 * shown.strides[1]],
            7 * kColumns + 3);
}

TEST_F(SeenValuesTest, ACopyGoesWhenNobodyKeepsIt) {
  PreviousValues values(/*generations=*/1, 1 << 20);
  seen_.Put(Whole(), Pass());
  seen_.PutCopy(Whole(), values.Keep(1, 0, Whole(), 1));
  EXPECT_NE(seen_.Find(Transposed()).copy, nullptr);
  values.Clear();
  EXPECT_EQ(seen_.Find(Transposed()).copy, nullptr);
}

}  // namespace
}  // namespace graphdbg::agent
