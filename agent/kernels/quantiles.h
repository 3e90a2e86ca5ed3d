// Quantiles of a tensor's finite elements.
#ifndef AGENT_KERNELS_QUANTILES_H_
#define AGENT_KERNELS_QUANTILES_H_

#include <array>
#include <cstddef>

namespace graphdbg {

// The quantile p99 is the smallest finite element that at least 99 % of the
// finite elements do not exceed, so it is an element and not an interpolation.
struct Quantiles {
  static constexpr std::array<int, 9> kPercents = {1,  5,  10, 25, 50,
                                                   75, 90, 95, 99};
  // Names in expressions and in the API, in the same order.
  static constexpr std::array<const char*, 9> kNames = {
      "p01", "p05", "p10", "p25", "p50", "p75", "p90", "p95", "p99"};

  // Values in the order of kPercents, which ascend.
  std::array<double, 9> values{};

  // Converts to the quantiles of all elements divided by `factor`, which must
  // be positive.
  void DivideBy(double factor) {
    for (double& value : values) value /= factor;
  }
};

}  // namespace graphdbg

#endif  // AGENT_KERNELS_QUANTILES_H_
