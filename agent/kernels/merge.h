// Statistics of parts put together.
#ifndef AGENT_KERNELS_MERGE_H_
#define AGENT_KERNELS_MERGE_H_

#include "agent/kernels/statistics.h"

namespace graphdbg {

// Of the elements of both. Counts, min and max are exact; the others lose a
// rounding or two.
Statistics Merged(const Statistics& a, const Statistics& b);

// As if each element occurred so many times.
Statistics Repeated(const Statistics& s, uint64_t times);

}  // namespace graphdbg

#endif  // AGENT_KERNELS_MERGE_H_
