// How the elements of a tensor are spread.
#ifndef SERVER_TENSOR_HISTOGRAM_H_
#define SERVER_TENSOR_HISTOGRAM_H_

#include <cstdint>
#include <vector>

#include "server/tensor/numbers.h"

namespace graphdbg::tensor {

// As numpy.histogram: bins of equal width from the smallest finite number to
// the largest, all half open but for the last, which has both ends. If all are
// the same, a range of 1 around it. Without finite numbers no bins.
struct Histogram {
  // One more than there are bins.
  std::vector<double> edges;
  std::vector<uint64_t> counts;
  uint64_t nan_count = 0;
  uint64_t pos_inf_count = 0;
  uint64_t neg_inf_count = 0;
};

// `bins` at least 1. Real and imaginary parts of complex numbers count alike.
Histogram MakeHistogram(const Numbers& numbers, uint64_t bins);

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_HISTOGRAM_H_
