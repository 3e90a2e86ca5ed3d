#include "agent/core/sampled_tensor.h"

#include <optional>

#include "agent/core/execution.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::agent {

SampledTensor::SampledTensor(const graphdbg_tensor& tensor, bool samples)
    : sample_(tensor) {
  if (!samples || !HasValues(tensor)) return;
  const TensorView view = ViewOf(tensor);
  const std::optional<int64_t> count = view.element_count();
  if (!count || *count <= kWhole || !view.row_major()) return;
  shape_ = {kBlocks, kBlockElements};
  strides_ = {*count / kBlocks, 1};
  sample_.ndim = 2;
  sample_.shape = shape_.data();
  sample_.strides = strides_.data();
}

}  // namespace graphdbg::agent
