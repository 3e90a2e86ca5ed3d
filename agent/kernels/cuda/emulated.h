// The kernels on the processor, thread after thread: for tests where there is
// no GPU. Everything but the way in which threads meet is the same code.
#ifndef AGENT_KERNELS_CUDA_EMULATED_H_
#define AGENT_KERNELS_CUDA_EMULATED_H_

#include <cstdint>
#include <string>

namespace graphdbg::cuda {

bool HasKernel(const std::string& kernel);

// Runs the kernel of this name in `blocks` blocks, given the address of its
// argument. False if there is no such kernel.
bool RunEmulated(const std::string& kernel, uint32_t blocks,
                 const void* argument);

}  // namespace graphdbg::cuda

#endif  // AGENT_KERNELS_CUDA_EMULATED_H_
