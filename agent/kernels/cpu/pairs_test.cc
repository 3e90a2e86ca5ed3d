// Comparisons and ranges compared with the reference, for every dtype on every
// instruction set of this machine.
#include "agent/kernels/cpu/pairs.h"

#include <limits>

#include "agent/kernels/cpu/test_support.h"
#include "agent/kernels/reference/reference.h"

namespace graphdbg::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

void ExpectClose(double actual, double expected, const char* what) {
  if (actual == expected) return;
  // Squares of smaller numbers underflow.
  const double size = std::max(std::fabs(expected), 1e-150);
  EXPECT_NEAR(actual, expected, 1e-12 * size) << what;
}

class PairTest : public OnEachTarget {
 protected:
  void Check(const TensorView& now, const TensorView& previous) {
    PairStatistics actual, expected;
    ASSERT_TRUE(ComparePair(now, previous, &actual));
    ASSERT_TRUE(reference::ComparePair(now, previous, &expected));
    EXPECT_EQ(actual.count, expected.count);
    EXPECT_EQ(actual.finite_count, expected.finite_count);
    EXPECT_EQ(actual.change_abs_max, expected.change_abs_max);
    ExpectClose(actual.change_abs_mean, expected.change_abs_mean, "change");
    ExpectClose(actual.change_l2, expected.change_l2, "change_l2");
    ExpectClose(actual.previous_abs_mean, expected.previous_abs_mean, "old");
    ExpectClose(actual.previous_l2, expected.previous_l2, "old_l2");
    for (const Tolerance& tolerance :
         {Tolerance{}, Tolerance{0.5, 0, true}, Tolerance{0, 3, false}}) {
      EXPECT_EQ(CountChanged(now, previous, tolerance),
                reference::CountChanged(now, previous, tolerance));
    }
    // Some cannot be represented in the type, or exceed its range.
    for (double start : {-kInf, -1e300, -1.0, 0.1}) {
      for (double end : {-1.0, 0.0, 0.7, 2.5, 1e300, kInf}) {
        EXPECT_EQ(CountInRange(now, start, end),
                  reference::CountInRange(now, start, end))
            << start << " to " << end;
      }
    }
  }

  void CheckFlat(const std::vector<char>& now, const std::vector<char>& old) {
    const int64_t size = static_cast<int64_t>(now.size() / ItemSize(dtype()));
    Check({dtype(), now.data(), 1, &size, nullptr},
          {dtype(), old.data(), 1, &size, nullptr});
  }
};

// Random bytes include NaNs of any payload, infinities and denormals.
TEST_P(PairTest, AgreesOnRandomBytesOfAllLengths) {
  for (size_t n : {0, 1, 2, 7, 8, 9, 15, 16, 17, 33, 100, 4095, 4096, 4097}) {
    SCOPED_TRACE(n);
    std::vector<char> now(n * ItemSize(dtype())), old(now.size());
    for (char& b : now) b = static_cast<char>(random_());
    for (char& b : old) b = static_cast<char>(random_());
    CheckFlat(now, old);
    CheckFlat(now, now);
  }
}

TEST_P(PairTest, StridedAndUnalignedViews) {
  const size_t size = ItemSize(dtype());
  std::vector<char> now(9000 * size + 1), old(9000 * size + 1);
  for (char& b : now) b = static_cast<char>(random_() % 60);
  for (char& b : old) b = static_cast<char>(random_() % 60);
  for (const StridedCase& c : StridedCases()) {
    SCOPED_TRACE(testing::PrintToString(c.shape));
    TensorView view{dtype(), now.data() + c.offset * size, c.shape.size(),
                    c.shape.data(), c.strides.data()};
    TensorView plain{dtype(), old.data() + 1, c.shape.size(), c.shape.data(),
                     nullptr};
    TensorView old_view = view;
    old_view.data = old.data() + c.offset * size;
    Check(view, plain);
    Check(plain, view);
    Check(view, old_view);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PairTest, OnAllTargets(AllTypes()), NameOf);

class FloatPairTest : public PairTest {};

TEST_P(FloatPairTest, SmallChangesOfManyNumbers) {
  std::normal_distribution<double> normal(0, 1);
  std::vector<double> now(10007), old(10007);
  for (size_t i = 0; i < now.size(); ++i) {
    old[i] = normal(random_);
    now[i] = old[i] * (1 + 1e-3 * normal(random_));
  }
  CheckFlat(Encode(dtype(), now), Encode(dtype(), old));
}

TEST_P(FloatPairTest, NonFiniteNumbersOnEitherSide) {
  std::vector<double> now(300, 1), old(300, 1);
  const double kinds[] = {kNan, kInf, -kInf, 0.0, -0.0, 5};
  for (size_t i = 0; i < 36; ++i) {
    now[100 + i] = kinds[i / 6];
    old[100 + i] = kinds[i % 6];
  }
  CheckFlat(Encode(dtype(), now), Encode(dtype(), old));
}

INSTANTIATE_TEST_SUITE_P(All, FloatPairTest, OnAllTargets(FloatTypes()),
                         NameOf);

TEST(PairsTest, StopsCountingChangesEarly) {
  const std::vector<float> now(10000, 1), old(10000, 2);
  const int64_t size = 10000;
  const TensorView a{DType::kFloat32, now.data(), 1, &size, nullptr};
  const TensorView b{DType::kFloat32, old.data(), 1, &size, nullptr};
  EXPECT_EQ(CountChanged(a, b, {}), 10000u);
  EXPECT_GE(*CountChanged(a, b, {}, 1), 1u);
  EXPECT_LT(*CountChanged(a, b, {}, 1), 10000u);
  EXPECT_EQ(CountChanged(a, a, {}, 1), 0u);
}

TEST(PairsTest, RejectsTensorsOfDifferentTypesOrShapes) {
  const double data[4] = {};
  const int64_t two = 2, three = 3;
  const TensorView view{DType::kFloat64, data, 1, &two, nullptr};
  PairStatistics statistics;
  for (const TensorView& other :
       {TensorView{DType::kFloat64, data, 1, &three, nullptr},
        TensorView{DType::kFloat32, data, 1, &two, nullptr},
        TensorView{DType::kFloat64, data, 0, nullptr, nullptr}}) {
    EXPECT_FALSE(ComparePair(view, other, &statistics));
    EXPECT_FALSE(CountChanged(view, other, {}));
  }
}

}  // namespace
}  // namespace graphdbg::cpu
