// A part of a large tensor that stands for all of it.
#ifndef AGENT_CORE_SAMPLED_TENSOR_H_
#define AGENT_CORE_SAMPLED_TENSOR_H_

#include <array>
#include <cstdint>

#include "agent/include/graphdbg/agent.h"

namespace graphdbg::agent {

// Refers to blocks of neighbouring elements, evenly spread over a tensor that
// has no gaps, so that measuring them costs the same for all large tensors.
// Other tensors, and those of few elements, are taken whole.
//
// Must not be moved: the sample points into this object. The tensor must
// outlive it.
class SampledTensor {
 public:
  static constexpr int64_t kBlocks = 64;
  static constexpr int64_t kBlockElements = 64;
  // Up to here, a tensor is taken whole.
  static constexpr int64_t kWhole = 4 * kBlocks * kBlockElements;

  // `samples`: false takes every tensor whole.
  SampledTensor(const graphdbg_tensor& tensor, bool samples);
  SampledTensor(const SampledTensor&) = delete;
  SampledTensor& operator=(const SampledTensor&) = delete;

  const graphdbg_tensor& tensor() const { return sample_; }

 private:
  graphdbg_tensor sample_;
  std::array<int64_t, 2> shape_;
  std::array<int64_t, 2> strides_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_SAMPLED_TENSOR_H_
