// Statistics compared with the reference, for every dtype on every instruction
// set of this machine.
#include "agent/kernels/cpu/cpu_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "agent/kernels/cpu/test_support.h"
#include "agent/kernels/reference/agreement.h"
#include "agent/kernels/reference/reference.h"
#include "gtest/gtest.h"

namespace graphdbg::cpu {
namespace {

using reference::ExpectSame;

void Check(const TensorView& view) {
  Statistics actual, expected;
  ASSERT_TRUE(ComputeStatistics(view, &actual));
  ASSERT_TRUE(reference::ComputeStatistics(view, &expected));
  ExpectSame(actual, expected);
}

void CheckFlat(DType dtype, const std::vector<char>& bytes) {
  const int64_t shape[] = {
      static_cast<int64_t>(bytes.size() / ItemSize(dtype))};
  Check({dtype, bytes.data(), 1, shape, nullptr});
}

class AnyType : public OnEachTarget {};

// Random bytes cover every kind of value, including NaNs with payloads.
TEST_P(AnyType, AgreesOnRandomBytesOfAllLengths) {
  for (size_t n : {0, 1, 2, 7, 15, 16, 17, 63, 64, 65, 511, 513, 4095, 4096,
                   4097, 8192, 10007}) {
    SCOPED_TRACE(n);
    std::vector<char> bytes(n * ItemSize(dtype()));
    for (char& b : bytes) b = static_cast<char>(random_());
    CheckFlat(dtype(), bytes);
  }
}

TEST_P(AnyType, AgreesOnStridedViews) {
  std::vector<char> bytes(9000 * ItemSize(dtype()));
  for (char& b : bytes) b = static_cast<char>(random_() % 120);
  for (const StridedCase& c : StridedCases()) {
    SCOPED_TRACE(testing::PrintToString(c.shape));
    Check({dtype(), bytes.data() + c.offset * ItemSize(dtype()), c.shape.size(),
           c.shape.data(), c.strides.data()});
  }
}

TEST_P(AnyType, ReadsUnalignedMemory) {
  std::vector<char> bytes(1000 * ItemSize(dtype()) + 1);
  for (char& b : bytes) b = static_cast<char>(random_() % 100);
  const int64_t shape[] = {1000};
  Check({dtype(), bytes.data() + 1, 1, shape, nullptr});
}

INSTANTIATE_TEST_SUITE_P(All, AnyType, OnAllTargets(AllTypes()), NameOf);

class FloatType : public OnEachTarget {};

TEST_P(FloatType, AgreesOnHardValues) {
  for (const auto& [what, values] : reference::HardValuesOf(dtype())) {
    SCOPED_TRACE(what);
    CheckFlat(dtype(), Encode(dtype(), values));
  }
}

INSTANTIATE_TEST_SUITE_P(All, FloatType, OnAllTargets(FloatTypes()), NameOf);

TEST(CpuStatisticsTest, RejectsUnreadableTensors) {
  const double data[2] = {};
  const int64_t one[] = {1}, negative[] = {-1};
  Statistics s;
  EXPECT_FALSE(ComputeStatistics({DType::kComplex64, data, 1, one}, &s));
  EXPECT_FALSE(ComputeStatistics({DType::kOther, data, 1, one}, &s));
  EXPECT_FALSE(ComputeStatistics({DType::kFloat32, data, 1, negative}, &s));
}

}  // namespace
}  // namespace graphdbg::cpu
