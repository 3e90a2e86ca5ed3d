// Runs the kernels on the CPU, one thread after the other, for tests without a
// GPU. All code is shared with the kernels, except the synchronization of
// threads.
#ifndef AGENT_KERNELS_CUDA_EMULATED_H_
#define AGENT_KERNELS_CUDA_EMULATED_H_

#include <cstdint>
#include <string>

namespace graphdbg::cuda {

bool HasKernel(const std::string& kernel);

// Runs the named kernel in `blocks` blocks; `argument` points to its argument.
// Returns false if there is no such kernel.
bool RunEmulated(const std::string& kernel, uint32_t blocks,
                 const void* argument);

}  // namespace graphdbg::cuda

#endif  // AGENT_KERNELS_CUDA_EMULATED_H_
