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

// Whether tensors with these keys wrap other tensors or have no values. PyTorch
// runs ops on them again on the wrapped tensors.
bool HasWrapperKeys(c10::DispatchKeySet keys);
inline bool IsWrapper(const at::TensorBase& tensor) {
  return tensor.defined() && HasWrapperKeys(tensor.key_set());
}

// The storage of a tensor that has plain, readable memory; null for all others
// (undefined, fake, meta, functional, sparse, quantized, nested, opaque). Never
// runs Python code and never materializes a lazy copy.
c10::StorageImpl* PlainStorage(const at::TensorBase& tensor);

// A hash that distinguishes views of one storage.
uint64_t ViewSignature(const at::TensorBase& tensor);

// A type in the agent's interface, and PyTorch's name of it.
struct NamedDtype {
  graphdbg_dtype dtype;
  const char* name;  // "torch.float32"
};
NamedDtype DtypeOf(c10::ScalarType type);

// How the agent's interface names a kind of device.
graphdbg_device DeviceOf(c10::DeviceType type);

// Fills *out; shape and strides point into the tensor. `storage` is the result
// of PlainStorage() and becomes the owner.
void DescribeTensor(const at::TensorBase& tensor, c10::StorageImpl* storage,
                    graphdbg_tensor* out);

// Descriptions of tensors. If cleared and reused, small lists of small tensors
// need no allocations.
class TensorList {
 public:
  // `tensor` must have plain storage. It must exist, and have the same shape,
  // for as long as the list is used.
  void Add(const at::TensorBase& tensor, c10::StorageImpl* storage);
  // Has the list outlive its tensors: copies shapes and strides, and holds
  // references to storages. Not to tensors, because their use counts influence
  // autograd.
  void Own();
  void Clear();
  size_t size() const { return tensors_.size(); }
  bool empty() const { return tensors_.empty(); }
  const graphdbg_tensor& operator[](size_t i) const { return tensors_[i]; }
  const graphdbg_tensor* data() const { return tensors_.data(); }
  uint64_t signature(size_t i) const { return signatures_[i]; }
  c10::StorageImpl* storage(size_t i) const {
    return static_cast<c10::StorageImpl*>(tensors_[i].owner);
  }

 private:
  c10::SmallVector<graphdbg_tensor, 4> tensors_;
  c10::SmallVector<uint64_t, 4> signatures_;
  // Empty unless owned: the storages, and shape and strides of each tensor,
  // concatenated.
  c10::SmallVector<StorageRef, 4> storages_;
  c10::SmallVector<int64_t, 40> dimensions_;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_TENSOR_VIEW_H_
