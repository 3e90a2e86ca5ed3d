// What one light pass tells of a tensor: enough to rule most conditions out.
#ifndef AGENT_KERNELS_SKETCH_H_
#define AGENT_KERNELS_SKETCH_H_

#include <cstdint>

namespace graphdbg {

// Numbers between which another lies, both included.
struct Interval {
  double lo = 0;
  double hi = 0;
};

// Of a tensor with elements, all of them finite.
struct Sketch {
  uint64_t count = 0;
  // Exact.
  double min = 0;
  double max = 0;
  // Of the elements, and of their squares.
  Interval mean;
  Interval square_mean;
};

}  // namespace graphdbg

#endif  // AGENT_KERNELS_SKETCH_H_
