// Computes statistics of tensors whose values are not in host memory.
#ifndef AGENT_KERNELS_STATISTICS_BACKEND_H_
#define AGENT_KERNELS_STATISTICS_BACKEND_H_

#include <cstdint>
#include <optional>

#include "agent/kernels/quantiles.h"
#include "agent/kernels/statistics.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg {

// The functions compute the same as those of the same names in
// agent/kernels/reference. They wait until the values are there, and also fail
// (return false or nothing) when the device does.
class StatisticsBackend {
 public:
  virtual ~StatisticsBackend() = default;
  virtual bool ComputeStatistics(const TensorView& view,
                                 Statistics* statistics) const = 0;
  // Within the error of agent/kernels/cpu/quantiles.h, whose arguments it has.
  virtual bool ComputeQuantiles(const TensorView& view, double min, double max,
                                Quantiles* quantiles) const = 0;
  virtual bool ComparePair(const TensorView& now, const TensorView& previous,
                           PairStatistics* statistics) const = 0;
  virtual std::optional<uint64_t> CountInRange(const TensorView& view,
                                               double start,
                                               double end) const = 0;
  virtual std::optional<uint64_t> CountChanged(
      const TensorView& now, const TensorView& previous,
      const Tolerance& tolerance) const = 0;
  // Whether an op overflowed since the flag was last read; absent if the device
  // has no such flag.
  virtual std::optional<bool> TakeOverflowFlag() const = 0;
};

}  // namespace graphdbg

#endif  // AGENT_KERNELS_STATISTICS_BACKEND_H_
