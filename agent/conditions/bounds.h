// Bounds that a sketch of a tensor implies for each measure.
#ifndef AGENT_CONDITIONS_BOUNDS_H_
#define AGENT_CONDITIONS_BOUNDS_H_

#include <limits>

#include "agent/kernels/sketch.h"

namespace graphdbg::conditions::bounds {

constexpr Interval kAnything = {-std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::infinity()};

Interval Zero(const Sketch& s);
Interval Count(const Sketch& s);
Interval Min(const Sketch& s);
Interval Max(const Sketch& s);
Interval MaxMin(const Sketch& s);
Interval Mean(const Sketch& s);
Interval Variance(const Sketch& s);
Interval Deviation(const Sketch& s);
Interval AbsMax(const Sketch& s);
Interval AbsMean(const Sketch& s);
Interval L1(const Sketch& s);
Interval L2(const Sketch& s);
Interval ZeroCount(const Sketch& s);
Interval NegativeCount(const Sketch& s);
Interval PositiveCount(const Sketch& s);
Interval ZeroPercentage(const Sketch& s);
Interval InactivePercentage(const Sketch& s);
// Bounds of the percentage of elements within [start, end], if `min` and `max`
// are those of all elements.
Interval InRange(double min, double max, double start, double end);

}  // namespace graphdbg::conditions::bounds

#endif  // AGENT_CONDITIONS_BOUNDS_H_
