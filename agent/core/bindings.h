// Parameters, buffers and inputs: nodes whose tensors outlive steps.
#ifndef AGENT_CORE_BINDINGS_H_
#define AGENT_CORE_BINDINGS_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "agent/base/mutex.h"
#include "agent/core/host.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::agent {

// The current view of a bound tensor, with the arrays that it points into.
struct BoundTensor {
  graphdbg_tensor tensor;
  int64_t shape[kMaxDimensions];
  int64_t strides[kMaxDimensions];
};

// Asks the host for the current view of a tensor by its handle. Returns false
// if the tensor no longer exists.
inline bool ResolveBound(const Host& host, void* handle, BoundTensor* out) {
  return host.Resolve(handle, &out->tensor, out->shape, out->strides);
}

// The host's handles of bound tensors, by node. Any thread.
class Bindings {
 public:
  // Replaces an earlier binding of the node.
  void Bind(uint32_t node, void* handle) {
    MutexLock lock(&mu_);
    handles_[node] = handle;
  }

  // Null if the node is not bound.
  void* Find(uint32_t node) const {
    MutexLock lock(&mu_);
    auto it = handles_.find(node);
    return it == handles_.end() ? nullptr : it->second;
  }

  // Ordered by node.
  std::vector<std::pair<uint32_t, void*>> All() const {
    MutexLock lock(&mu_);
    return {handles_.begin(), handles_.end()};
  }

 private:
  mutable Mutex mu_;
  std::map<uint32_t, void*> handles_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_BINDINGS_H_
