// Work in a device's context.
#ifndef AGENT_RUNTIME_CUDA_CONTEXT_H_
#define AGENT_RUNTIME_CUDA_CONTEXT_H_

#include "agent/runtime/cuda_driver.h"

namespace graphdbg::runtime {

// Makes a context this thread's while it lives, and lets the thread do, while a
// graph is captured elsewhere, what such a capture otherwise forbids.
class CudaContext {
 public:
  CudaContext(const CudaDriver& driver, void* context) : driver_(driver) {
    pushed_ = driver_.CtxPushCurrent(context) == kCudaSuccess;
    driver_.ThreadExchangeStreamCaptureMode(&mode_);
  }
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;
  ~CudaContext() {
    driver_.ThreadExchangeStreamCaptureMode(&mode_);
    void* context = nullptr;
    if (pushed_) driver_.CtxPopCurrent(&context);
  }

 private:
  // Of cuda.h.
  static constexpr int kCaptureModeRelaxed = 2;

  const CudaDriver& driver_;
  int mode_ = kCaptureModeRelaxed;
  bool pushed_;
};

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_CUDA_CONTEXT_H_
