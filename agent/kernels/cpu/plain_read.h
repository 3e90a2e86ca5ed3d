// The baseline of the benchmark.
#ifndef AGENT_KERNELS_CPU_PLAIN_READ_H_
#define AGENT_KERNELS_CPU_PLAIN_READ_H_

#include <cstddef>

namespace graphdbg::cpu {

// Sums `bytes` / 4 float32 values in the machine's widest vectors, which costs
// little more than loading them.
double PlainRead(const void* data, size_t bytes);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_PLAIN_READ_H_
