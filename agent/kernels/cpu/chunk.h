// One pass over a chunk, compiled once for each instruction set and chosen at
// run time.
#ifndef AGENT_KERNELS_CPU_CHUNK_H_
#define AGENT_KERNELS_CPU_CHUNK_H_

#include <cstddef>

#include "agent/kernels/cpu/moments.h"
#include "agent/tensor/dtype.h"

namespace graphdbg::cpu {

// Sums of n elements, 1 <= n <= kChunkElements, that lie side by side, aligned
// or not. `dtype` must have statistics. What lies `ahead` bytes further on is
// fetched, since it is read next; 0: nothing is. Allocates nothing; any thread.
using ChunkFunction = void (*)(const void* elements, size_t n, size_t ahead,
                               ChunkSums* sums);
ChunkFunction ChunkFunctionFor(DType dtype);

// The element at `p`, rounded to float64.
double ElementAsDouble(DType dtype, const void* p);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_CHUNK_H_
