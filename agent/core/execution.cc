#include "agent/core/execution.h"

#include "agent/kernels/cpu/cpu_statistics.h"

namespace graphdbg::agent {

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

Execution ExecutionOf(const graphdbg_execution& execution) {
  return {execution.node, execution.flags,
          Inputs(execution.inputs, execution.input_count),
          Tensors(execution.outputs, execution.output_count)};
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

bool Readable(const graphdbg_tensor& tensor) {
  return tensor.device == GRAPHDBG_CPU && tensor.ndim <= kMaxDimensions &&
         (tensor.ndim == 0 || tensor.shape != nullptr) &&
         (tensor.data != nullptr || ViewOf(tensor).element_count() == 0);
}

bool Measure(const graphdbg_tensor& tensor, Statistics* statistics) {
  return Readable(tensor) && cpu::ComputeStatistics(ViewOf(tensor), statistics);
}

}  // namespace graphdbg::agent
