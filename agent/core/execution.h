// An execution as the C interface reports it, readable whatever the size of
// the caller's structs.
#ifndef AGENT_CORE_EXECUTION_H_
#define AGENT_CORE_EXECUTION_H_

#include <cstddef>
#include <cstdint>

#include "agent/include/graphdbg/agent.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::agent {

// An array whose elements lie `stride` bytes apart.
template <class T>
class SizedArray {
 public:
  SizedArray() = default;
  SizedArray(const T* first, size_t stride, size_t count)
      : first_(reinterpret_cast<const char*>(first)),
        stride_(stride),
        count_(count) {}

  size_t size() const { return count_; }
  const T& operator[](size_t i) const {
    return *reinterpret_cast<const T*>(first_ + i * stride_);
  }

 private:
  const char* first_ = nullptr;
  size_t stride_ = 0;
  size_t count_ = 0;
};

using TensorArray = SizedArray<graphdbg_tensor>;
using InputArray = SizedArray<graphdbg_input>;

// Elements know their size; these take it from the first one.
TensorArray Tensors(const graphdbg_tensor* first, size_t count);
InputArray Inputs(const graphdbg_input* first, size_t count);

struct Execution {
  uint32_t node = 0;
  uint32_t flags = 0;
  InputArray inputs;
  TensorArray outputs;
  // What gradients in the outputs are multiplied with; 1: nothing.
  double grad_scale = 1;
  uint32_t micro_step = 0;
  uint32_t iteration = 0;
  graphdbg_mode mode = GRAPHDBG_MODE_UNKNOWN;

  bool has(uint32_t flag) const { return (flags & flag) != 0; }
};

Execution ExecutionOf(const graphdbg_execution& execution);

TensorView ViewOf(const graphdbg_tensor& tensor);

// Whether an output is an input's memory, which the op did not write.
bool IsView(const Execution& execution, const graphdbg_tensor& output);

// Whether two tensors lie in the same memory.
bool SharesMemory(const graphdbg_tensor& a, const graphdbg_tensor& b);

// Whether there are values, wherever they lie, of a shape that is one.
bool HasValues(const graphdbg_tensor& tensor);

// Whether they lie in host memory as well, where the agent can read them.
bool Readable(const graphdbg_tensor& tensor);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_EXECUTION_H_
