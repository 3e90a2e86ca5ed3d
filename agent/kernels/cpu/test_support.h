// Tensors of every kind, on every instruction set of this machine.
#ifndef AGENT_KERNELS_CPU_TEST_SUPPORT_H_
#define AGENT_KERNELS_CPU_TEST_SUPPORT_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "agent/tensor/dtype.h"
#include "gtest/gtest.h"
#include "hwy/highway.h"

namespace graphdbg::cpu {

// float64 written as a dtype; rounds by cutting off, which is all the same
// here.
inline void Write(DType dtype, double x, char* out) {
  const float f = static_cast<float>(x);
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  if (dtype == DType::kFloat64) {
    std::memcpy(out, &x, 8);
  } else if (dtype == DType::kFloat32) {
    std::memcpy(out, &f, 4);
  } else if (dtype == DType::kBfloat16) {
    const auto high = static_cast<uint16_t>(bits >> 16);
    std::memcpy(out, &high, 2);
  } else {
    uint16_t half = static_cast<uint16_t>(bits >> 16 & 0x8000);
    const double magnitude = std::fabs(x);
    if (std::isnan(x)) {
      half |= 0x7E00;
    } else if (magnitude >= 65520) {
      half |= 0x7C00;
    } else if (magnitude >= std::ldexp(1, -14)) {
      int exponent;
      const double fraction = std::frexp(magnitude, &exponent);
      half |= static_cast<uint16_t>((exponent + 14) << 10);
      half |= static_cast<uint16_t>(fraction * 2048) & 0x3FF;
    } else {
      half |= static_cast<uint16_t>(std::ldexp(magnitude, 24));
    }
    std::memcpy(out, &half, 2);
  }
}

inline std::vector<char> Encode(DType dtype,
                                const std::vector<double>& values) {
  const size_t size = ItemSize(dtype);
  std::vector<char> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    Write(dtype, values[i], bytes.data() + i * size);
  }
  return bytes;
}

struct StridedCase {
  std::vector<int64_t> shape, strides;
  int64_t offset;
};

// Views of 9,000 elements.
inline std::vector<StridedCase> StridedCases() {
  return {
      {{3, 5}, {1, 3}, 0},
      {{30, 70}, {100, 1}, 5},
      {{70, 30}, {1, 100}, 5},
      {{4, 600}, {1000, 1}, 3},
      {{50}, {7}, 2},
      {{10, 20}, {-20, -1}, 200},
      {{10, 0, 20}, {1, 1, 1}, 0},
      {{6, 5, 4}, {0, 1, 0}, 11},
      {{1000}, {0}, 4},
      {{2, 3, 4, 5}, {500, 100, 20, 2}, 1},
      {{}, {}, 17},
      {{1}, {12345}, 17},
      {{5, 8}, {1, 1}, 0},
  };
}

class OnEachTarget : public testing::TestWithParam<std::tuple<int64_t, DType>> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(std::get<0>(GetParam()));
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  DType dtype() const { return std::get<1>(GetParam()); }

  std::mt19937_64 random_{20260721};
};

inline std::string NameOf(
    const testing::TestParamInfo<std::tuple<int64_t, DType>>& i) {
  return std::string(hwy::TargetName(std::get<0>(i.param))) + "_" +
         ToString(std::get<1>(i.param));
}

inline std::vector<int64_t> Targets() {
  std::vector<int64_t> targets;
  int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  while (supported != 0) {
    targets.push_back(supported & -supported);
    supported &= supported - 1;
  }
  return targets;
}

inline std::vector<DType> FloatTypes() {
  return {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64};
}

inline std::vector<DType> AllTypes() {
  std::vector<DType> types = {DType::kBool,   DType::kInt8,   DType::kInt16,
                              DType::kInt32,  DType::kInt64,  DType::kUint8,
                              DType::kUint16, DType::kUint32, DType::kUint64};
  for (DType type : FloatTypes()) types.push_back(type);
  return types;
}

inline auto OnAllTargets(const std::vector<DType>& types) {
  return testing::Combine(testing::ValuesIn(Targets()),
                          testing::ValuesIn(types));
}

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_TEST_SUPPORT_H_
