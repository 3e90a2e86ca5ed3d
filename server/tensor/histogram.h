// Histograms of tensors that come piece by piece. Needs two passes: the first
// finds the range, the second counts.
#ifndef SERVER_TENSOR_HISTOGRAM_H_
#define SERVER_TENSOR_HISTOGRAM_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "server/tensor/numbers.h"

namespace graphdbg::tensor {

// The smallest and the largest finite number.
struct FiniteRange {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  bool empty() const { return min > max; }
  void Add(double number) {
    if (!std::isfinite(number)) return;
    min = std::min(min, number);
    max = std::max(max, number);
  }
  void Add(const Numbers& numbers);
  void Add(const FiniteRange& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
};

// Follows numpy.histogram: bins of equal width from the smallest to the largest
// finite number. All bins are half-open except the last, which includes both
// ends. If all numbers are equal, the range is 1 wide. Without finite numbers
// there are no bins.
struct Histogram {
  // One more than the number of bins.
  std::vector<double> edges;
  std::vector<uint64_t> counts;
  uint64_t nan_count = 0;
  uint64_t pos_inf_count = 0;
  uint64_t neg_inf_count = 0;
};

class HistogramCounter {
 public:
  // `range` contains every finite number that is counted. `bins` is at least 1.
  HistogramCounter(FiniteRange range, uint64_t bins);

  void Add(double number);
  // Real and imaginary parts count as numbers of their own.
  void Add(const Numbers& numbers);
  const Histogram& histogram() const { return histogram_; }

 private:
  FiniteRange range_;
  // Bins per half of a unit.
  double scale_ = 0;
  Histogram histogram_;
};

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_HISTOGRAM_H_
