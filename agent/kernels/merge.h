// Combines the statistics of parts of a tensor.
#ifndef AGENT_KERNELS_MERGE_H_
#define AGENT_KERNELS_MERGE_H_

#include "agent/kernels/statistics.h"

namespace graphdbg {

// Statistics of the union of two disjoint sets of elements. Counts, min and max
// are exact; the other values are subject to rounding.
Statistics Merged(const Statistics& a, const Statistics& b);

// Statistics if each element occurred `times` times.
Statistics Repeated(const Statistics& s, uint64_t times);

}  // namespace graphdbg

#endif  // AGENT_KERNELS_MERGE_H_
