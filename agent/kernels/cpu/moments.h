// Sums of parts of a tensor, and how parts are merged.
#ifndef AGENT_KERNELS_CPU_MOMENTS_H_
#define AGENT_KERNELS_CPU_MOMENTS_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "agent/kernels/statistics.h"

namespace graphdbg::cpu {

// What one pass over at most kChunkElements elements finds. Sums are over the
// finite elements, relative to `shift`, a number among them.
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
  // Of x - shift, of its square, of |x|.
  double sum = 0;
  double square_sum = 0;
  double abs_sum = 0;

  // Sums of finite numbers may leave the range of float64.
  bool overflowed() const;
  // The shift lies so far off the mean that most of square_sum is cancelled
  // when the variance is computed.
  bool cancels() const;
};

constexpr size_t kChunkElements = 4096;

// The whole, part by part. Its sums are long double, so that float64 tensors
// near the end of the range keep a right mean.
class Moments {
 public:
  void Merge(const ChunkSums& chunk);
  // For elements whose sums overflow in a chunk.
  void MergeValue(double value);

  // Every element counts `multiplicity` times.
  Statistics Finish(uint64_t multiplicity) const;

 private:
  // `mean` is relative to origin_.
  void MergeSums(uint64_t n, long double mean, long double deviations,
                 long double abs_sum);

  ChunkSums totals_;
  uint64_t n_ = 0;
  // The first shift; means are kept relative to it, so that numbers that are
  // large and close together lose nothing.
  long double origin_ = 0;
  long double mean_ = 0;
  // Sum of squares of the distance to the mean.
  long double deviations_ = 0;
  long double abs_sum_ = 0;
};

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_MOMENTS_H_
