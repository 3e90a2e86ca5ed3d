// One SIMD pass over a chunk, compiled once per instruction set and selected at
// run time.
#ifndef AGENT_KERNELS_CPU_CHUNK_H_
#define AGENT_KERNELS_CPU_CHUNK_H_

#include <cstddef>

#include "agent/kernels/cpu/moments.h"
#include "agent/tensor/dtype.h"

namespace graphdbg::cpu {

// Sums up n contiguous elements, 1 <= n <= kChunkElements, of any alignment.
// `dtype` must have statistics. Prefetches memory `ahead` bytes before it is
// read; 0 disables prefetching. Thread-safe; does not allocate.
using ChunkFunction = void (*)(const void* elements, size_t n, size_t ahead,
                               ChunkSums* sums);
ChunkFunction ChunkFunctionFor(DType dtype);

// The element at `p`, rounded to float64.
double ElementAsDouble(DType dtype, const void* p);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_CHUNK_H_
