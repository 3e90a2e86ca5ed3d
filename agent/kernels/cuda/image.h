// The compiled kernels, as they are in the program.
#ifndef AGENT_KERNELS_CUDA_IMAGE_H_
#define AGENT_KERNELS_CUDA_IMAGE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace graphdbg::cuda {

// A fat binary as cuModuleLoadData takes it; empty where the program was built
// without nvcc.
struct Image {
  const void* data = nullptr;
  size_t size = 0;
};
Image KernelImage();

// Of the CUDA toolkit that compiled it, as "13.0"; empty without nvcc.
const char* ToolkitVersion();

// What a fat binary holds, in its order: "sm_90" is machine code, "compute_90"
// PTX, which a driver compiles for newer devices. Empty if it is none.
std::vector<std::string> ArchitecturesOf(const Image& image);

// Whether any of these runs on a device of this compute capability (90: 9.0):
// machine code of its generation that is not younger, or PTX of any that is
// not.
bool RunsOn(const std::vector<std::string>& architectures, int capability);

}  // namespace graphdbg::cuda

#endif  // AGENT_KERNELS_CUDA_IMAGE_H_
