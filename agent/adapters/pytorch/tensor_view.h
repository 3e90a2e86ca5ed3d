#ifndef AGENT_ADAPTERS_PYTORCH_TENSOR_VIEW_H_
#define AGENT_ADAPTERS_PYTORCH_TENSOR_VIEW_H_

#include <ATen/core/TensorBase.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/SmallVector.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>

#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

using StorageRef = c10::intrusive_ptr<c10::StorageImpl>;

// Whether tensors with these keys wrap others, or have no values at all: an op
// on them is run again on what is inside.
bool AreOfWrapper(c10::DispatchKeySet keys);
inline bool IsWrapper(const at::TensorBase& tensor) {
  return tensor.defined() && AreOfWrapper(tensor.key_set());
}

// The storage of a tensor that has plain, readable memory; null for all others
// (undefined, fake, meta, functional, sparse, quantized, nested, opaque). Never
// runs Python and never makes a lazy copy real.
c10::StorageImpl* PlainStorage(const at::TensorBase& tensor);

// Tells views of one storage apart.
uint64_t ViewSignature(const at::TensorBase& tensor);

// Fills *out; shape and strides point into the tensor. `storage` is what
// PlainStorage gave, and becomes the owner.
void DescribeTensor(const at::TensorBase& tensor, c10::StorageImpl* storage,
                    graphdbg_tensor* out);

// Descriptions that outlive their tensors: copies shapes and strides, and
// holds the storages (never the tensors: autograd looks at their use counts).
// Clear and reuse it: small lists of small tensors are then free of
// allocations.
class TensorList {
 public:
  // `tensor` has plain storage.
  void Add(const at::TensorBase& tensor, c10::StorageImpl* storage);
  // To be called after the last Add: until then shapes point nowhere.
  void Finish();
  void Clear();
  size_t size() const { return tensors_.size(); }
  bool empty() const { return tensors_.empty(); }
  const graphdbg_tensor& operator[](size_t i) const { return tensors_[i]; }
  const graphdbg_tensor* data() const { return tensors_.data(); }
  uint64_t signature(size_t i) const { return signatures_[i]; }
  c10::StorageImpl* storage(size_t i) const { return storages_[i].get(); }

 private:
  c10::SmallVector<graphdbg_tensor, 4> tensors_;
  c10::SmallVector<uint64_t, 4> signatures_;
  c10::SmallVector<StorageRef, 4> storages_;
  // Shape and strides of each tensor, one after the other.
  c10::SmallVector<int64_t, 40> dimensions_;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_TENSOR_VIEW_H_
