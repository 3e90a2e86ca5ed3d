#ifndef AGENT_ADAPTERS_PYTORCH_BOUND_TENSORS_H_
#define AGENT_ADAPTERS_PYTORCH_BOUND_TENSORS_H_

#include <c10/core/TensorImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "agent/adapters/pytorch/producers.h"
#include "agent/adapters/pytorch/tensor_view.h"
#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// The model's parameters and buffers: tensors that outlive steps.
//
// Held weakly, so that a model can go. Any thread; never waits.
class BoundTensors {
 public:
  struct Binding {
    uint32_t node = 0;
    uint32_t scope = 0;
    c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> tensor;
    // The one that Refresh told of last.
    const c10::StorageImpl* storage = nullptr;
  };

  // True if the tensor was not bound before. The caller keeps it alive.
  bool Add(c10::TensorImpl* tensor, uint32_t scope);
  // Completes Add; the result is the handle for graphdbg_bind_tensor and lives
  // as long as the process.
  Binding* SetNode(c10::TensorImpl* tensor, uint32_t node);

  // The binding of a live tensor; null if there is none.
  const Binding* Find(const c10::TensorImpl* tensor) const;

  // Tells `producers` which storages the tensors have now: .data may have been
  // replaced, the model moved to another device.
  void Refresh(Producers* producers);

  // host.resolve. Keeps the tensor's storage until ReleaseResolved.
  int Resolve(void* handle, graphdbg_tensor* out, int64_t* shape,
              int64_t* strides);
  void ReleaseResolved();

 private:
  mutable std::mutex mu_;
  std::vector<std::unique_ptr<Binding>> bindings_;
  std::unordered_map<const c10::TensorImpl*, Binding*> by_tensor_;
  std::vector<StorageRef> resolved_;
  std::atomic<bool> any_resolved_{false};
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_BOUND_TENSORS_H_
