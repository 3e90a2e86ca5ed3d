#include "agent/core/execution.h"

#include <cmath>
#include <cstddef>
#include <utility>

namespace graphdbg::agent {

// No two flags share a bit.
static_assert((GRAPHDBG_UNINITIALIZED ^ GRAPHDBG_MOVES_VALUES ^
               GRAPHDBG_EXPLICIT_NONFINITE ^ GRAPHDBG_IN_PLACE ^
               GRAPHDBG_GIVEN ^ GRAPHDBG_VIEW) == 63);

TensorArray Tensors(const graphdbg_tensor* first, size_t count) {
  if (first == nullptr || count == 0) return {};
  return {first, first->struct_size, count};
}

InputArray Inputs(const graphdbg_input* first, size_t count) {
  if (first == nullptr || count == 0) return {};
  const size_t stride = offsetof(graphdbg_input, tensor) +
                        static_cast<size_t>(first->tensor.struct_size);
  return {first, stride, count};
}

void InputArray::Describe() const {
  if (host_ == nullptr) return;
  const graphdbg_execution* const host = std::exchange(host_, nullptr);
  const graphdbg_input* first = nullptr;
  const size_t count =
      host->describe_inputs(host->describe_inputs_context, &first);
  array_ = Inputs(first, count).array_;
}

Execution ExecutionOf(const graphdbg_execution& execution) {
  Execution result;
  result.node = execution.node;
  result.flags = execution.flags;
  result.inputs = Inputs(execution.inputs, execution.input_count);
  result.outputs = Tensors(execution.outputs, execution.output_count);
  // The struct of the first version of the interface ends here.
  if (execution.struct_size < offsetof(graphdbg_execution, iteration)) {
    return result;
  }
  if (std::isfinite(execution.grad_scale) && execution.grad_scale > 0) {
    result.grad_scale = execution.grad_scale;
  }
  result.micro_step = execution.micro_step;
  result.mode = execution.mode;
  if (execution.struct_size >= offsetof(graphdbg_execution, error)) {
    result.iteration = execution.iteration;
  }
  if (execution.struct_size >= offsetof(graphdbg_execution, describe_inputs)) {
    result.error = execution.error;
  }
  if (execution.struct_size >= sizeof(graphdbg_execution) &&
      execution.describe_inputs != nullptr) {
    result.inputs = InputArray(&execution);
  }
  return result;
}

TensorView ViewOf(const graphdbg_tensor& tensor) {
  TensorView view;
  view.dtype = DTypeFromNumber(tensor.dtype);
  view.data = tensor.data;
  view.ndim = tensor.ndim;
  view.shape = tensor.shape;
  view.strides = tensor.strides;
  return view;
}

bool SharesMemory(const graphdbg_tensor& a, const graphdbg_tensor& b) {
  if (a.storage_id != 0 && b.storage_id != 0) {
    return a.storage_id == b.storage_id;
  }
  return a.data == b.data;
}

bool IsView(const Execution& execution, const graphdbg_tensor& output) {
  if (execution.has(GRAPHDBG_IN_PLACE)) return false;
  if (execution.has(GRAPHDBG_VIEW)) return true;
  // Hosts that have inputs described only when they are needed set the flag.
  if (execution.inputs.pending()) return false;
  for (size_t i = 0; i < execution.inputs.size(); ++i) {
    if (SharesMemory(execution.inputs[i].tensor, output)) return true;
  }
  return false;
}

bool HasValues(const graphdbg_tensor& tensor) {
  return tensor.ndim <= kMaxDimensions &&
         (tensor.ndim == 0 || tensor.shape != nullptr) &&
         (tensor.data != nullptr || ViewOf(tensor).element_count() == 0);
}

bool Readable(const graphdbg_tensor& tensor) {
  return tensor.device == GRAPHDBG_CPU && HasValues(tensor);
}

}  // namespace graphdbg::agent
