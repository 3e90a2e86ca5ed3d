#ifndef AGENT_ADAPTERS_PYTORCH_BOUND_TENSORS_H_
#define AGENT_ADAPTERS_PYTORCH_BOUND_TENSORS_H_

#include <c10/core/TensorImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "agent/adapters/pytorch/producers.h"
#include "agent/adapters/pytorch/tensor_view.h"
#include "agent/base/mutex.h"
#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// The model's parameters and buffers: tensors that outlive steps.
//
// Holds weak references, so that models can be destroyed. Thread-safe; never
// waits.
class BoundTensors {
 public:
  using WeakTensor =
      c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
  struct Binding {
    uint32_t node = 0;
    uint32_t scope = 0;
    WeakTensor tensor{
        c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>()};
    // The storage that Refresh() registered last.
    const c10::StorageImpl* storage = nullptr;
    // An input, which is a different tensor in each step.
    bool changes = false;
  };

  // Creates a binding without a tensor. It is the handle for
  // graphdbg_bind_tensor and lives as long as the agent.
  Binding* Create(uint32_t node, uint32_t scope, bool changes);
  // Binds to this tensor, which the caller keeps alive during the call.
  void Hold(Binding* binding, c10::TensorImpl* tensor);
  // Releases a tensor whose content is about to be replaced. Returns its
  // binding, or null if it is not bound.
  Binding* Release(const c10::TensorImpl* tensor);

  // The binding of a live tensor; null if it is not bound.
  const Binding* Find(const c10::TensorImpl* tensor) const;

  // Releases all tensors. Bindings stay valid as handles, but have no tensor.
  void Clear();

  // Registers the tensors' current storages with `producers`: .data may have
  // been replaced, or the model moved to another device.
  void Refresh(Producers* producers);

  // Implements host.resolve. Retains the tensor's storage until
  // ReleaseResolved().
  int Resolve(void* handle, graphdbg_tensor* out, int64_t* shape,
              int64_t* strides);
  void ReleaseResolved();

 private:
  mutable Mutex mu_;
  std::vector<std::unique_ptr<Binding>> bindings_ GRAPHDBG_GUARDED_BY(mu_);
  // Bindings from before the last Clear(), to which an agent that is being
  // closed may still refer.
  std::vector<std::unique_ptr<Binding>> cleared_ GRAPHDBG_GUARDED_BY(mu_);
  std::unordered_map<const c10::TensorImpl*, Binding*> binding_by_tensor_
      GRAPHDBG_GUARDED_BY(mu_);
  std::vector<StorageRef> resolved_ GRAPHDBG_GUARDED_BY(mu_);
  std::atomic<bool> any_resolved_{false};
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_BOUND_TENSORS_H_
