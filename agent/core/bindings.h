// Parameters, buffers and inputs: nodes whose tensors outlive steps.
#ifndef AGENT_CORE_BINDINGS_H_
#define AGENT_CORE_BINDINGS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "agent/core/host.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::agent {

// The present view of a bound tensor, with the arrays it points into.
struct BoundTensor {
  graphdbg_tensor tensor;
  int64_t shape[kMaxDimensions];
  int64_t strides[kMaxDimensions];
};

// Any thread.
class Bindings {
 public:
  void Bind(uint32_t node, void* bound) {
    std::lock_guard<std::mutex> lock(mu_);
    bound_[node] = bound;
  }

  // Null if the node is not bound.
  void* Find(uint32_t node) const {
    std::lock_guard<std::mutex> lock(mu_);
    auto it = bound_.find(node);
    return it == bound_.end() ? nullptr : it->second;
  }

  // By node.
  std::vector<std::pair<uint32_t, void*>> All() const {
    std::lock_guard<std::mutex> lock(mu_);
    return {bound_.begin(), bound_.end()};
  }

 private:
  mutable std::mutex mu_;
  std::map<uint32_t, void*> bound_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_BINDINGS_H_
