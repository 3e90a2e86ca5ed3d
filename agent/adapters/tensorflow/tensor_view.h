#ifndef AGENT_ADAPTERS_TENSORFLOW_TENSOR_VIEW_H_
#define AGENT_ADAPTERS_TENSORFLOW_TENSOR_VIEW_H_

#include <array>
#include <cstdint>

#include "graphdbg/agent.h"
#include "tensorflow/core/framework/tensor.h"

namespace graphdbg::tensorflow {

// A tensor as the agent sees it. Its values are read only if they are in the
// host's memory. The owner is the tensor's buffer, see Retain() and Release().
class TensorView {
 public:
  // `on_host`: the tensor is in the host's memory.
  void Describe(const ::tensorflow::Tensor& tensor, bool on_host);
  // Valid until the object is moved or described again.
  const graphdbg_tensor& get() const { return view_; }
  const void* data() const { return view_.data; }

 private:
  static constexpr int kMaxDimensions = 64;

  graphdbg_tensor view_ = {};
  std::array<int64_t, kMaxDimensions> shape_;
};

// Stores the tensor's sizes in `shape`, which has room for 64 numbers.
void DescribeTensor(const ::tensorflow::Tensor& tensor, bool on_host,
                    int64_t* shape, graphdbg_tensor* out);

// Whether the elements are numbers that can be NaN or infinite.
bool IsFloating(::tensorflow::DataType type);

// Increments and decrements the reference count of a tensor's buffer.
void Retain(void* owner);
void Release(void* owner);

}  // namespace graphdbg::tensorflow

#endif  // AGENT_ADAPTERS_TENSORFLOW_TENSOR_VIEW_H_
