// Scoped use of a CUDA context.
#ifndef AGENT_RUNTIME_CUDA_CONTEXT_H_
#define AGENT_RUNTIME_CUDA_CONTEXT_H_

#include "agent/runtime/cuda_driver.h"

namespace graphdbg::runtime {

// Makes a context current on this thread, and allows the thread to make calls
// that a graph capture in another thread would otherwise prohibit.
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
  // CU_STREAM_CAPTURE_MODE_RELAXED of cuda.h.
  static constexpr int kCaptureModeRelaxed = 2;

  const CudaDriver& driver_;
  int mode_ = kCaptureModeRelaxed;
  bool pushed_;
};

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_CUDA_CONTEXT_H_
