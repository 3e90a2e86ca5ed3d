// An execution as reported through the C interface, independent of the version
// of the caller's structs.
#ifndef AGENT_CORE_EXECUTION_H_
#define AGENT_CORE_EXECUTION_H_

#include <cstddef>
#include <cstdint>

#include "agent/include/graphdbg/agent.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::agent {

// An array whose elements are `stride` bytes apart.
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

// The inputs of an execution, which the host may describe only when they are
// first needed. Used by the thread of the execution.
class InputArray {
 public:
  InputArray() = default;
  InputArray(const graphdbg_input* first, size_t stride, size_t count)
      : array_(first, stride, count) {}
  explicit InputArray(const graphdbg_execution* host) : host_(host) {}

  size_t size() const { return array().size(); }
  const graphdbg_input& operator[](size_t i) const { return array()[i]; }
  // Whether they were not needed so far.
  bool pending() const { return host_ != nullptr; }
  // Has the host describe them now. Precedes taking a lock under which they are
  // needed, because the host takes one, too.
  void Describe() const;

 private:
  const SizedArray<graphdbg_input>& array() const {
    Describe();
    return array_;
  }

  mutable const graphdbg_execution* host_ = nullptr;
  mutable SizedArray<graphdbg_input> array_;
};

// The size of the elements is the one that the first element states.
TensorArray Tensors(const graphdbg_tensor* first, size_t count);
InputArray Inputs(const graphdbg_input* first, size_t count);

struct Execution {
  uint32_t node = 0;
  uint32_t flags = 0;
  InputArray inputs;
  TensorArray outputs;
  // The factor by which gradients in the outputs are scaled.
  double grad_scale = 1;
  uint32_t micro_step = 0;
  uint32_t iteration = 0;
  graphdbg_mode mode = GRAPHDBG_MODE_UNKNOWN;
  // The error that the op raised instead of having outputs; null if none.
  const char* error = nullptr;

  bool has(uint32_t flag) const { return (flags & flag) != 0; }
};

Execution ExecutionOf(const graphdbg_execution& execution);

TensorView ViewOf(const graphdbg_tensor& tensor);

// Whether an output is a view of an input's memory that the op did not write.
bool IsView(const Execution& execution, const graphdbg_tensor& output);

// Whether two tensors use the same memory.
bool SharesMemory(const graphdbg_tensor& a, const graphdbg_tensor& b);

// Whether the tensor has values, on any device, and a valid shape.
bool HasValues(const graphdbg_tensor& tensor);

// Whether the tensor has values in host memory, where the agent can read them.
bool Readable(const graphdbg_tensor& tensor);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_EXECUTION_H_
