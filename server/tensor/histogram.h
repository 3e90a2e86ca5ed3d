// Histograms of tensors.
#ifndef SERVER_TENSOR_HISTOGRAM_H_
#define SERVER_TENSOR_HISTOGRAM_H_

#include <cstdint>
#include <vector>

#include "server/tensor/numbers.h"

namespace graphdbg::tensor {

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

// `bins` is at least 1. Real and imaginary parts count as numbers of their own.
Histogram MakeHistogram(const Numbers& numbers, uint64_t bins);

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_HISTOGRAM_H_
