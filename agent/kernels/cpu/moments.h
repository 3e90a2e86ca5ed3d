// Sums over chunks of a tensor, and their combination.
#ifndef AGENT_KERNELS_CPU_MOMENTS_H_
#define AGENT_KERNELS_CPU_MOMENTS_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "agent/kernels/statistics.h"

namespace graphdbg::cpu {

// Result of one pass over at most kChunkElements elements. Sums are over the
// finite elements, relative to `shift`, which is within their range.
struct ChunkSums {
  uint64_t count = 0;
  uint64_t finite_count = 0;
  uint64_t nan_count = 0;
  uint64_t pos_inf_count = 0;
  uint64_t zero_count = 0;
  uint64_t negative_count = 0;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double shift = 0;
  // Sums of x - shift, of its square, and of |x|.
  double sum = 0;
  double square_sum = 0;
  double abs_sum = 0;

  // Whether a sum exceeds the range of float64, as even sums of finite numbers
  // may.
  bool overflowed() const;
  // Whether the shift is so far from the mean that computing the variance would
  // cancel most digits of square_sum.
  bool cancels() const;
};

constexpr size_t kChunkElements = 4096;

// Accumulates chunks into the statistics of the whole. Uses long double, so
// that the mean of float64 tensors near the limit of the range is correct.
class Moments {
 public:
  void Merge(const ChunkSums& chunk);
  // For elements of a chunk whose sums overflow.
  void MergeValue(double value);

  // Counts every element `multiplicity` times.
  Statistics Finish(uint64_t multiplicity) const;

 private:
  // `mean` is relative to origin_.
  void MergeSums(uint64_t n, long double mean, long double deviations,
                 long double abs_sum);

  ChunkSums totals_;
  uint64_t n_ = 0;
  // The first shift. Means are relative to it, which preserves the precision of
  // large numbers that are close together.
  long double origin_ = 0;
  long double mean_ = 0;
  // Sum of squared distances from the mean.
  long double deviations_ = 0;
  long double abs_sum_ = 0;
};

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_MOMENTS_H_
