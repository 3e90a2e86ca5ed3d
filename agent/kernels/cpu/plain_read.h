// The yardstick of the benchmark.
#ifndef AGENT_KERNELS_CPU_PLAIN_READ_H_
#define AGENT_KERNELS_CPU_PLAIN_READ_H_

#include <cstddef>

namespace graphdbg::cpu {

// The sum of `bytes` / 4 float32 in the widest vectors of the machine: little
// more than loads.
double PlainRead(const void* data, size_t bytes);

}  // namespace graphdbg::cpu

#endif  // AGENT_KERNELS_CPU_PLAIN_READ_H_
