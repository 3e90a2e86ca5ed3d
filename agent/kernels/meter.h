// Measures tensors where their values lie, if that is not the host's memory.
#ifndef AGENT_KERNELS_METER_H_
#define AGENT_KERNELS_METER_H_

#include <cstdint>
#include <optional>

#include "agent/kernels/statistics.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg {

// As the functions of the same names in the reference. They wait for the
// values, and fail (false, absent) as well where a device does.
class Meter {
 public:
  virtual ~Meter() = default;
  virtual bool ComputeStatistics(const TensorView& view,
                                 Statistics* statistics) const = 0;
  virtual bool ComparePair(const TensorView& now, const TensorView& previous,
                           PairStatistics* statistics) const = 0;
  virtual std::optional<uint64_t> CountInRange(const TensorView& view,
                                               double start,
                                               double end) const = 0;
  virtual std::optional<uint64_t> CountChanged(
      const TensorView& now, const TensorView& previous,
      const Tolerance& tolerance) const = 0;
  // Whether an op overflowed since this was last asked; absent if the device
  // does not tell.
  virtual std::optional<bool> TakeOverflowFlag() const = 0;
};

}  // namespace graphdbg

#endif  // AGENT_KERNELS_METER_H_
