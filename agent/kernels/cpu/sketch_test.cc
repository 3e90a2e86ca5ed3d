// Sketches compared with the reference, for every floating-point type on every
// instruction set of this machine.
#include "agent/kernels/cpu/sketch.h"

#include <limits>

#include "agent/kernels/cpu/test_support.h"
#include "agent/kernels/reference/reference.h"

namespace graphdbg::cpu {
namespace {

constexpr int64_t kNoLimit = int64_t{1} << 40;
constexpr double kInf = std::numeric_limits<double>::infinity();

class SketchTest : public OnEachTarget {
 protected:
  void Check(const TensorView& view) {
    Statistics exact;
    ASSERT_TRUE(reference::ComputeStatistics(view, &exact));
    const bool finite = exact.finite_count() == exact.count;
    EXPECT_EQ(AllFinite(view), finite);
    // May be false if there are others between the elements.
    EXPECT_TRUE(finite || !IsSmallAndFinite(view, kNoLimit));
    const std::optional<Sketch> sketch = ComputeSketch(view);
    const double n = static_cast<double>(exact.count);
    const double square_mean =
        exact.l2 / std::sqrt(n) * exact.l2 / std::sqrt(n);
    // Squares and sums of smaller numbers are within the range of the type.
    const double largest = dtype() == DType::kFloat64 ? 1e150 : 1e17;
    if (!finite || exact.count == 0) {
      EXPECT_FALSE(sketch);
      return;
    }
    if (exact.abs_max > largest && !sketch) return;
    ASSERT_TRUE(sketch);
    EXPECT_EQ(sketch->count, exact.count);
    EXPECT_EQ(sketch->min, exact.min);
    EXPECT_EQ(sketch->max, exact.max);
    ExpectIn(exact.mean, sketch->mean);
    ExpectIn(square_mean, sketch->square_mean);
    // Intervals are as narrow as promised: 1e-5 of the numbers' magnitude.
    const double root = std::sqrt(square_mean);
    EXPECT_LE(sketch->mean.hi - sketch->mean.lo, 1e-5 * root + 1e-22);
    EXPECT_LE(sketch->square_mean.hi - sketch->square_mean.lo,
              1e-5 * square_mean + 1e-44);
  }

  void CheckValues(const std::vector<double>& values) {
    const std::vector<char> bytes = Encode(dtype(), values);
    const int64_t size = static_cast<int64_t>(values.size());
    Check({dtype(), bytes.data(), 1, &size, nullptr});
  }

  // The exact number is itself rounded to float64.
  static void ExpectIn(double x, const Interval& interval) {
    EXPECT_GE(x, interval.lo - 1e-14 * std::fabs(x));
    EXPECT_LE(x, interval.hi + 1e-14 * std::fabs(x));
  }

  std::vector<double> Normal(size_t n, double mean, double deviation) {
    std::normal_distribution<double> normal(mean, deviation);
    std::vector<double> values(n);
    for (double& x : values) x = normal(random_);
    return values;
  }
};

TEST_P(SketchTest, AgreesOnRandomBytesOfAllLengths) {
  for (size_t n :
       {0,  1,  2,  3,  7,   8,   9,   15,   16,   17,   31,   32,
        33, 63, 64, 65, 127, 128, 129, 1000, 2047, 2048, 4097, 10007}) {
    SCOPED_TRACE(n);
    std::vector<char> bytes(n * ItemSize(dtype()));
    for (char& b : bytes) b = static_cast<char>(random_());
    const int64_t size = static_cast<int64_t>(n);
    Check({dtype(), bytes.data(), 1, &size, nullptr});
  }
}

TEST_P(SketchTest, AgreesOnFiniteNumbersOfAllLengths) {
  for (size_t n : {1,  2,  3,  7,   8,   9,   15,   16,   17,   31,   32,    33,
                   63, 64, 65, 127, 128, 129, 1000, 2047, 2048, 4097, 100000}) {
    SCOPED_TRACE(n);
    CheckValues(Normal(n, 0, 1));
    CheckValues(Normal(n, -100, 1));
    CheckValues(Normal(n, 0, 1e-4));
  }
}

TEST_P(SketchTest, FindsOneNonFiniteElementAtAnyPosition) {
  for (double bad : {std::nan(""), kInf, -kInf}) {
    for (size_t at : {0, 1, 8, 15, 16, 31, 33, 63, 64, 500, 4095, 5001, 5002}) {
      SCOPED_TRACE(at);
      std::vector<double> values = Normal(5003, 0, 1);
      values[at] = bad;
      CheckValues(values);
    }
  }
}

TEST_P(SketchTest, NansOfAnyPayloadAndSign) {
  const size_t size = ItemSize(dtype());
  for (int sign : {0, 1}) {
    for (bool quiet : {false, true}) {
      // All exponent bits, and the lowest bit of the fraction or a higher one.
      std::vector<char> one = Encode(dtype(), {kInf});
      const size_t byte = quiet ? size - 2 : 0;
      one[byte] = static_cast<char>(one[byte] | (quiet ? 0x08 : 0x01));
      if (sign == 1) one[size - 1] = static_cast<char>(one[size - 1] | 0x80);
      std::vector<char> bytes = Encode(dtype(), std::vector<double>(77, 1));
      std::copy(one.begin(), one.end(), bytes.begin() + 40 * size);
      const int64_t count = 77;
      const TensorView view{dtype(), bytes.data(), 1, &count, nullptr};
      EXPECT_EQ(AllFinite(view), false);
      EXPECT_FALSE(ComputeSketch(view));
    }
  }
}

TEST_P(SketchTest, StridedAndUnalignedViews) {
  const size_t size = ItemSize(dtype());
  std::vector<char> bytes(9000 * size + 1);
  for (char& b : bytes) b = static_cast<char>(random_() % 60);
  for (size_t shift : {size_t{0}, size_t{1}}) {
    for (const StridedCase& c : StridedCases()) {
      SCOPED_TRACE(testing::PrintToString(c.shape));
      Check({dtype(), bytes.data() + c.offset * size + shift, c.shape.size(),
             c.shape.data(), c.strides.data()});
    }
  }
}

TEST_P(SketchTest, ZerosOfBothSigns) {
  CheckValues(std::vector<double>(1000, 0));
  CheckValues(std::vector<double>(77, -0.0));
  std::vector<double> relu = Normal(5000, 0, 1);
  for (double& x : relu) x = std::max(x, 0.0);
  CheckValues(relu);
}

TEST_P(SketchTest, NumbersWhoseSquaresVanishOrOverflow) {
  const double smallest = dtype() == DType::kFloat16   ? std::ldexp(1, -24)
                          : dtype() == DType::kFloat64 ? 4.9e-324
                                                       : std::ldexp(1, -133);
  const double largest = dtype() == DType::kFloat16   ? 65504
                         : dtype() == DType::kFloat64 ? 1.7e308
                                                      : 3.3e38;
  for (size_t n : {1, 50, 5000}) {
    CheckValues(std::vector<double>(n, smallest));
    CheckValues(std::vector<double>(n, -largest));
    std::vector<double> mixed(n, smallest);
    mixed[n / 2] = 1;
    CheckValues(mixed);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SketchTest, OnAllTargets(FloatTypes()), NameOf);

// 4 x 3 elements in rows of 5, the last two of which are not finite.
class SmallAndFiniteTest : public testing::Test {
 protected:
  SmallAndFiniteTest() {
    for (size_t row = 0; row < 4; ++row) {
      memory_[5 * row + 3] = std::numeric_limits<float>::quiet_NaN();
      memory_[5 * row + 4] = std::numeric_limits<float>::infinity();
    }
  }

  bool IsFinite(std::vector<int64_t> shape, std::vector<int64_t> strides,
                int64_t max_bytes = kNoLimit) {
    return IsSmallAndFinite(
        {DType::kFloat32, memory_, shape.size(), shape.data(),
         strides.empty() ? nullptr : strides.data()},
        max_bytes);
  }

  float memory_[20] = {};
};

TEST_F(SmallAndFiniteTest, LooksAtElementsInAnyOrder) {
  EXPECT_TRUE(IsFinite({3}, {}));
  EXPECT_FALSE(IsFinite({4}, {}));
  EXPECT_TRUE(IsFinite({1, 3}, {5, 1}));
  EXPECT_TRUE(IsFinite({3, 1}, {1, 5}));
  EXPECT_TRUE(IsFinite({7, 3}, {0, 1}));
  EXPECT_FALSE(IsFinite({2, 4}, {}));
  EXPECT_FALSE(IsFinite({4, 1}, {1, 100}));
}

TEST_F(SmallAndFiniteTest, AnEmptyTensorAndAScalarAreFinite) {
  EXPECT_TRUE(IsFinite({}, {}));
  EXPECT_TRUE(IsFinite({1000, 0}, {}));
}

TEST_F(SmallAndFiniteTest, LooksAtWhatLiesBetween) {
  EXPECT_FALSE(IsFinite({4, 3}, {5, 1}));
}

TEST_F(SmallAndFiniteTest, LargeAndUnusualTensorsAreNotLookedAt) {
  EXPECT_TRUE(IsFinite({3}, {}, 12));
  EXPECT_FALSE(IsFinite({3}, {}, 11));
  EXPECT_FALSE(IsFinite({3}, {-1}));
  EXPECT_FALSE(IsFinite({-3}, {}));
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(IsFinite({huge, huge}, {}));
  EXPECT_FALSE(IsFinite({2, 2}, {huge, 1}));
}

TEST(SketchOfOtherTypesTest, IntegersAreFiniteAndWithoutSketch) {
  const int64_t size = 3, data[] = {1, 2, 3};
  const TensorView view{DType::kInt64, data, 1, &size, nullptr};
  EXPECT_EQ(AllFinite(view), true);
  EXPECT_FALSE(ComputeSketch(view));
}

TEST(SketchOfOtherTypesTest, RejectsUnreadableTensors) {
  const double data[2] = {};
  const int64_t one[] = {1}, negative[] = {-1};
  EXPECT_FALSE(AllFinite({DType::kOther, data, 1, one}).has_value());
  EXPECT_FALSE(AllFinite({DType::kFloat32, data, 1, negative}).has_value());
  EXPECT_FALSE(ComputeSketch({DType::kFloat32, data, 1, negative}));
}

}  // namespace
}  // namespace graphdbg::cpu
