// The kernels' code, run on the processor, against the reference: every dtype,
// every kind of value. What the processor cannot show (how threads meet, the
// speed) is shown by tests that need a GPU.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "agent/kernels/cpu/test_support.h"
#include "agent/kernels/cuda/element.h"
#include "agent/kernels/cuda/emulated.h"
#include "agent/kernels/cuda/image.h"
#include "agent/kernels/cuda/launch.h"
#include "agent/kernels/cuda/thread_work.h"
#include "agent/kernels/reference/agreement.h"
#include "agent/kernels/reference/reference.h"
#include "gtest/gtest.h"

namespace graphdbg::cuda {
namespace {

using reference::ExpectClose;

void ExpectSame(const Statistics& actual, const Statistics& expected) {
  reference::ExpectSame(actual, expected, reference::MeanScale::kAbsMax);
}

// One launch on the processor, with all that a launch needs.
class Launch {
 public:
  explicit Launch(uint32_t blocks)
      : blocks_(blocks), partials_(blocks * kMaxPartialBytes) {}

  Meeting meeting() {
    return {partials_.data(), &arrived_, slot_.get(), ++sequence_};
  }
  const ResultSlot& Run(const std::string& kernel, const void* argument) {
    EXPECT_TRUE(RunEmulated(kernel, blocks_, argument));
    EXPECT_EQ(slot_->sequence, sequence_);
    return *slot_;
  }

 private:
  const uint32_t blocks_;
  std::vector<char> partials_;
  uint32_t arrived_ = 0;
  uint64_t sequence_ = 0;
  const std::unique_ptr<ResultSlot> slot_ = std::make_unique<ResultSlot>();
};

void Check(const TensorView& view, uint32_t blocks) {
  Statistics expected;
  ASSERT_TRUE(reference::ComputeStatistics(view, &expected));
  if (expected.count == 0) return;
  const auto layout = Layout::Of(view);
  ASSERT_TRUE(layout.has_value());
  const auto multiplicity = static_cast<uint64_t>(layout->multiplicity);
  Launch launch(blocks);
  {
    StridedItem item;
    ASSERT_TRUE(FillStrided(*layout, &item));
    item.meeting = launch.meeting();
    item.range_start = -1;
    item.range_end = 1;
    const Partial& partial =
        launch.Run(KernelName("Strided", view.dtype), &item).statistics;
    ExpectSame(ToStatistics(partial, multiplicity), expected);
    EXPECT_EQ(partial.in_range_count * multiplicity,
              reference::CountInRange(view, -1, 1));
  }
  if (!layout->is_one_run()) return;
  Batch batch;
  batch.count = 1;
  batch.items[0] = {layout->base, static_cast<uint64_t>(layout->count),
                    launch.meeting(), 0, blocks};
  ExpectSame(
      ToStatistics(
          launch.Run(KernelName("Statistics", view.dtype), &batch).statistics,
          multiplicity),
      expected);
}

void CheckFlat(DType dtype, const std::vector<char>& bytes) {
  const int64_t shape[] = {
      static_cast<int64_t>(bytes.size() / ItemSize(dtype))};
  for (const uint32_t blocks : {1, 3}) {
    Check({dtype, bytes.data(), 1, shape, nullptr}, blocks);
  }
}

class AnyType : public testing::TestWithParam<DType> {
 protected:
  DType dtype() const { return GetParam(); }
  std::mt19937_64 random_{20260721};
};

TEST_P(AnyType, AgreesOnRandomBytesOfAllLengths) {
  for (size_t n : {1, 2, 7, 15, 16, 17, 63, 255, 256, 257, 4095, 4097, 30011}) {
    SCOPED_TRACE(n);
    std::vector<char> bytes(n * ItemSize(dtype()));
    for (char& b : bytes) b = static_cast<char>(random_());
    CheckFlat(dtype(), bytes);
  }
}

TEST_P(AnyType, AgreesOnStridedViews) {
  std::vector<char> bytes(9000 * ItemSize(dtype()));
  for (char& b : bytes) b = static_cast<char>(random_() % 120);
  for (const cpu::StridedCase& c : cpu::StridedCases()) {
    SCOPED_TRACE(testing::PrintToString(c.shape));
    Check({dtype(), bytes.data() + c.offset * ItemSize(dtype()), c.shape.size(),
           c.shape.data(), c.strides.data()},
          2);
  }
}

// A slice may begin anywhere, and a framework may even misalign its type.
TEST_P(AnyType, ReadsFromAnyAddress) {
  std::vector<char> bytes(5000 * ItemSize(dtype()) + 16);
  for (char& b : bytes) b = static_cast<char>(random_() % 100);
  const int64_t shape[] = {5000};
  for (size_t offset = 0; offset < 16; ++offset) {
    SCOPED_TRACE(offset);
    Check({dtype(), bytes.data() + offset, 1, shape, nullptr}, 2);
  }
}

TEST_P(AnyType, ComparesWithAPreviousValue) {
  std::vector<char> now(4000 * ItemSize(dtype()));
  for (char& b : now) b = static_cast<char>(random_());
  std::vector<char> before = now;
  for (size_t i = 0; i < before.size(); i += 7) before[i] ^= 1;
  // Once side by side, once with the one transposed.
  const int64_t shape[] = {40, 100};
  const int64_t rows[] = {100, 1}, columns[] = {1, 40};
  for (const int64_t* strides : {rows, columns}) {
    const TensorView a{dtype(), now.data(), 2, shape, rows};
    const TensorView b{dtype(), before.data(), 2, shape, strides};
    PairStatistics expected;
    ASSERT_TRUE(reference::ComparePair(a, b, &expected));
    Launch launch(3);
    PairItem item;
    ASSERT_TRUE(FillPair(a, b, &item));
    item.meeting = launch.meeting();
    const Tolerance tolerance{1e-3, 1e-6, true};
    SetTolerance(tolerance, &item);
    const PairPartial partial =
        launch.Run(KernelName("Pair", dtype()), &item).pair;
    const PairStatistics actual = ToPairStatistics(partial);
    EXPECT_EQ(actual.count, expected.count);
    EXPECT_EQ(actual.finite_count, expected.finite_count);
    EXPECT_EQ(partial.changed_count, reference::CountChanged(a, b, tolerance));
    EXPECT_EQ(actual.change_abs_max, expected.change_abs_max);
    ExpectClose(actual.change_abs_mean, expected.change_abs_mean,
                expected.change_abs_mean, "change_abs_mean");
    ExpectClose(actual.change_l2, expected.change_l2, expected.change_l2,
                "change_l2");
    ExpectClose(actual.previous_abs_mean, expected.previous_abs_mean,
                expected.previous_abs_mean, "previous_abs_mean");
    ExpectClose(actual.previous_l2, expected.previous_l2, expected.previous_l2,
                "previous_l2");
  }
}

TEST_P(AnyType, GathersASlice) {
  std::vector<char> bytes(600 * ItemSize(dtype()));
  for (char& b : bytes) b = static_cast<char>(random_());
  const int64_t shape[] = {10, 12, 5};
  const Slice slice = {{8, 4, -2, false}, {3, 1, 1, true}, {0, 3, 2, false}};
  const TensorView view{dtype(), bytes.data(), 3, shape, nullptr};
  SliceReader reader(view, slice);
  std::string expected;
  reader.Read(1 << 20, &expected);
  GatherItem item;
  ASSERT_TRUE(FillGather(view, slice, &item));
  std::string actual(expected.size(), '?');
  // In two pieces.
  for (const uint64_t first : {0, 5}) {
    item.first = first;
    item.count = first == 0 ? 5 : 7;
    item.out = actual.data() + first * ItemSize(dtype());
    ASSERT_TRUE(RunEmulated(GatherName(dtype()), 1, &item));
  }
  EXPECT_EQ(actual, expected);
}

std::string NameOf(const testing::TestParamInfo<DType>& info) {
  return ToString(info.param);
}

INSTANTIATE_TEST_SUITE_P(All, AnyType, testing::ValuesIn(cpu::AllTypes()),
                         NameOf);

class FloatType : public AnyType {};

TEST_P(FloatType, AgreesOnHardValues) {
  for (const auto& [what, values] : reference::HardValuesOf(dtype())) {
    SCOPED_TRACE(what);
    CheckFlat(dtype(), cpu::Encode(dtype(), values));
  }
}

INSTANTIATE_TEST_SUITE_P(All, FloatType, testing::ValuesIn(cpu::FloatTypes()),
                         NameOf);

TEST(HalfTest, IsExactForEachOfThem) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const auto expected =
        static_cast<float>(reference::ElementValue(DType::kFloat16, &half));
    const float actual = HalfToFloat(half);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << bits;
    } else {
      EXPECT_EQ(BitCast<uint32_t>(actual), BitCast<uint32_t>(expected)) << bits;
    }
  }
}

// In 32 bits where they hold the index, whatever the sizes are.
TEST(OffsetTest, IsTheSumOfIndicesTimesStrides) {
  Grid grid = {};
  grid.ndim = 3;
  grid.sizes[0] = 3;
  grid.sizes[1] = (uint64_t{1} << 33) + 1;
  grid.sizes[2] = 5;
  const int64_t strides[] = {7, -2, 1000};
  for (const uint64_t in_second :
       {uint64_t{0}, uint64_t{1} << 20, uint64_t{1} << 31, uint64_t{1} << 33}) {
    for (const uint64_t in_third : {0, 4}) {
      const uint64_t i = 2 + 3 * (in_second + grid.sizes[1] * in_third);
      EXPECT_EQ(OffsetOf(i, grid, strides),
                14 - 2 * static_cast<int64_t>(in_second) +
                    1000 * static_cast<int64_t>(in_third));
    }
  }
}

TEST(ImageTest, HoldsMachineCodeAndPtxWhereNvccWasAtHand) {
  const Image image = KernelImage();
  if (image.size == 0) GTEST_SKIP() << "built without nvcc";
  EXPECT_EQ(ArchitecturesOf(image),
            (std::vector<std::string>{"sm_80", "compute_90", "sm_90"}));
}

TEST(ImageTest, NoImageHoldsNothing) {
  EXPECT_TRUE(ArchitecturesOf({}).empty());
  const char junk[] = "this is no fat binary, whatever it may look like";
  EXPECT_TRUE(ArchitecturesOf({junk, sizeof(junk)}).empty());
}

TEST(ImageTest, RunsOnItsOwnGenerationAndPtxOnYoungerOnes) {
  const std::vector<std::string> built = {"sm_80", "sm_90", "compute_90"};
  for (const int capability : {80, 86, 89, 90, 100, 120}) {
    EXPECT_TRUE(RunsOn(built, capability)) << capability;
  }
  EXPECT_FALSE(RunsOn(built, 75));
  EXPECT_FALSE(RunsOn({"sm_80"}, 90));
  EXPECT_FALSE(RunsOn({}, 90));
}

}  // namespace
}  // namespace graphdbg::cuda
