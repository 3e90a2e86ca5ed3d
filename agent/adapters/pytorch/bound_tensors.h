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
  using WeakTensor =
      c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
  struct Binding {
    uint32_t node = 0;
    uint32_t scope = 0;
    WeakTensor tensor{
        c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>()};
    // The one that Refresh told of last.
    const c10::StorageImpl* storage = nullptr;
    // Another tensor in each step: an input.
    bool changes = false;
  };

  // A new binding, without a tensor; the handle for graphdbg_bind_tensor, which
  // lives as long as the process.
  Binding* New(uint32_t node, uint32_t scope, bool changes);
  // The binding is of this tensor from now on, which the caller keeps alive.
  void Hold(Binding* binding, c10::TensorImpl* tensor);
  // Lets go of a tensor that is to hold something else; null if it is not
  // bound.
  Binding* Release(const c10::TensorImpl* tensor);

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
