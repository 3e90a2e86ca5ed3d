#include <ATen/record_function.h>

#include "agent/adapters/pytorch/capture_engine.h"
#include "agent/adapters/pytorch/op_recorder.h"
#include "agent/base/mutex.h"

namespace graphdbg::pytorch {
namespace {

class RecordFunctionEngine : public CaptureEngine {
 public:
  explicit RecordFunctionEngine(OpTracer* tracer)
      : callback_(at::addGlobalCallback(OpRecorder(tracer))) {
    at::disableCallback(callback_);
  }

  void TraceOps(bool on) override {
    MutexLock lock(&mu_);
    if (on == tracing_) return;
    tracing_ = on;
    if (on) {
      OpTracer::Resume();
      at::reenableCallback(callback_);
    } else {
      at::disableCallback(callback_);
    }
  }

 private:
  Mutex mu_;
  bool tracing_ GRAPHDBG_GUARDED_BY(mu_) = false;
  const at::CallbackHandle callback_;
};

}  // namespace

CaptureEngine* MakeRecordFunctionEngine(OpTracer* tracer) {
  return new RecordFunctionEngine(tracer);
}

}  // namespace graphdbg::pytorch
