// The compiled kernels embedded in the program.
#ifndef AGENT_KERNELS_CUDA_IMAGE_H_
#define AGENT_KERNELS_CUDA_IMAGE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace graphdbg::cuda {

// A fat binary for cuModuleLoadData; empty if built without nvcc.
struct Image {
  const void* data = nullptr;
  size_t size = 0;
};
Image KernelImage();

// The version of the CUDA toolkit that compiled the kernels, such as "13.0";
// empty if built without nvcc.
const char* ToolkitVersion();

// The architectures in a fat binary, in its order: "sm_90" is machine code,
// "compute_90" is PTX, which the driver compiles for newer devices. Empty if
// the image is not a fat binary.
std::vector<std::string> Architectures(const Image& image);

// Whether any of the architectures runs on a device of this compute capability
// (90 means 9.0): machine code of the same generation that is not newer, or PTX
// of any generation that is not newer.
bool RunsOn(const std::vector<std::string>& architectures, int capability);

}  // namespace graphdbg::cuda

#endif  // AGENT_KERNELS_CUDA_IMAGE_H_
