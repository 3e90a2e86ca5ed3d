// Bounds on a tensor's statistics from one cheap pass, tight enough to rule out
// most conditions.
#ifndef AGENT_KERNELS_SKETCH_H_
#define AGENT_KERNELS_SKETCH_H_

#include <cstdint>

namespace graphdbg {

// A closed interval.
struct Interval {
  double lo = 0;
  double hi = 0;
};

// Describes a tensor that is not empty and has only finite elements.
struct Sketch {
  uint64_t count = 0;
  // Exact.
  double min = 0;
  double max = 0;
  // Bounds on the mean of the elements and of their squares.
  Interval mean;
  Interval square_mean;
};

}  // namespace graphdbg

#endif  // AGENT_KERNELS_SKETCH_H_
