#ifndef AGENT_ADAPTERS_TENSORFLOW_TAPS_KEPT_TENSOR_H_
#define AGENT_ADAPTERS_TENSORFLOW_TAPS_KEPT_TENSOR_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "agent/adapters/tensorflow_taps/c_api.h"
#include "graphdbg/agent.h"

namespace graphdbg::tensorflow_taps {

// A reference to a tensor's memory, which the agent may share. Thread-safe.
class KeptTensor {
 public:
  // Takes ownership of the tensor.
  explicit KeptTensor(TF_Tensor* tensor) : tensor_(tensor) {}

  void Ref() { references_.fetch_add(1); }
  void Unref() {
    if (references_.fetch_sub(1) == 1) delete this;
  }

  // The view is valid as long as the object is not released.
  graphdbg_tensor Describe();
  const TF_Tensor* get() const { return tensor_; }

 private:
  static constexpr int kMaxDimensions = 64;

  ~KeptTensor() { Tf().DeleteTensor(tensor_); }

  std::atomic<int> references_{1};
  TF_Tensor* const tensor_;
  std::array<int64_t, kMaxDimensions> shape_;
};

}  // namespace graphdbg::tensorflow_taps

#endif  // AGENT_ADAPTERS_TENSORFLOW_TAPS_KEPT_TENSOR_H_
