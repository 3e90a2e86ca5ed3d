#include "agent/runtime/cuda_module.h"

#include "absl/strings/str_cat.h"
#include "agent/kernels/cuda/image.h"
#include "agent/kernels/cuda/launch.h"

namespace graphdbg::runtime {

absl::Status CudaModule::Load() {
  absl::Status status = driver_->Check(
      driver_->ModuleLoadData(&module_, cuda::KernelImage().data),
      "cuModuleLoadData");
  if (!status.ok()) {
    // The likely reason is a driver that is older than the toolkit.
    return absl::Status(
        status.code(),
        absl::StrCat(status.message(), "; the kernels were compiled with CUDA ",
                     cuda::ToolkitVersion(), ", the driver supports CUDA ",
                     driver_->version_text()));
  }
  for (const std::string& kernel : cuda::KernelNames()) {
    status.Update(
        driver_->Check(driver_->ModuleGetFunction(&functions_[kernel], module_,
                                                  kernel.c_str()),
                       "cuModuleGetFunction"));
  }
  return status;
}

void CudaModule::Unload() {
  if (module_ != nullptr) driver_->ModuleUnload(module_);
  module_ = nullptr;
}

absl::Status CudaModule::Launch(const std::string& kernel, uint32_t blocks,
                                const void* argument, Stream stream) const {
  const auto function = functions_.find(kernel);
  if (function == functions_.end()) {
    return absl::InternalError(absl::StrCat("unknown kernel ", kernel));
  }
  void* arguments[] = {const_cast<void*>(argument)};
  return driver_->Check(driver_->LaunchKernel(function->second, blocks, 1, 1,
                                              cuda::kThreadsPerBlock, 1, 1, 0,
                                              stream, arguments, nullptr),
                        "cuLaunchKernel");
}

}  // namespace graphdbg::runtime
