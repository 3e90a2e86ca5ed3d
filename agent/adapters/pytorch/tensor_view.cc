#include "agent/adapters/pytorch/tensor_view.h"

#include <c10/core/DispatchKeySet.h>
#include <c10/core/ScalarType.h>
#include <c10/core/TensorImpl.h>

#include <string_view>

#include "agent/adapters/pytorch/torch_compat.h"

namespace graphdbg::pytorch {
namespace {

// Types that not all versions of PyTorch define, by the name in c10.
NamedDtype NewerDtypeOf(const char* name) {
  const std::string_view text = name;
  if (text == "Float8_e4m3fn") {
    return {GRAPHDBG_FLOAT8_E4M3FN, "torch.float8_e4m3fn"};
  }
  if (text == "Float8_e5m2") {
    return {GRAPHDBG_FLOAT8_E5M2, "torch.float8_e5m2"};
  }
  return {GRAPHDBG_DTYPE_OTHER, name};
}

constexpr c10::DispatchKeySet kWrapper({
    c10::DispatchKey::Python,
    c10::DispatchKey::Functionalize,
    c10::DispatchKey::FuncTorchBatched,
    c10::DispatchKey::FuncTorchGradWrapper,
    c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
    c10::DispatchKey::FuncTorchDynamicLayerBackMode,
});

// Tensors with any of these keys have no plain values in memory, or have values
// with a pending conjugation or negation.
constexpr c10::DispatchKeySet kNotPlain({
    c10::DispatchKey::PythonTLSSnapshot,
    c10::DispatchKey::Conjugate,
    c10::DispatchKey::Negative,
    c10::DispatchKey::ZeroTensor,
    c10::DispatchKey::Quantized,
    c10::DispatchKey::NestedTensor,
});

// Uses the key set only: other queries of a wrapper may run Python code.
bool IsPlain(c10::DispatchKeySet keys) {
  return !keys.has_any(kWrapper | kNotPlain) &&
         !keys.has_backend(c10::BackendComponent::MetaBit);
}

}  // namespace

NamedDtype DtypeOf(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Bool:
      return {GRAPHDBG_BOOL, "torch.bool"};
    case c10::ScalarType::Char:
      return {GRAPHDBG_INT8, "torch.int8"};
    case c10::ScalarType::Short:
      return {GRAPHDBG_INT16, "torch.int16"};
    case c10::ScalarType::Int:
      return {GRAPHDBG_INT32, "torch.int32"};
    case c10::ScalarType::Long:
      return {GRAPHDBG_INT64, "torch.int64"};
    case c10::ScalarType::Byte:
      return {GRAPHDBG_UINT8, "torch.uint8"};
#if GRAPHDBG_TORCH_HAS_WIDE_UNSIGNED
    case c10::ScalarType::UInt16:
      return {GRAPHDBG_UINT16, "torch.uint16"};
    case c10::ScalarType::UInt32:
      return {GRAPHDBG_UINT32, "torch.uint32"};
    case c10::ScalarType::UInt64:
      return {GRAPHDBG_UINT64, "torch.uint64"};
#endif
    case c10::ScalarType::Half:
      return {GRAPHDBG_FLOAT16, "torch.float16"};
    case c10::ScalarType::BFloat16:
      return {GRAPHDBG_BFLOAT16, "torch.bfloat16"};
    case c10::ScalarType::Float:
      return {GRAPHDBG_FLOAT32, "torch.float32"};
    case c10::ScalarType::Double:
      return {GRAPHDBG_FLOAT64, "torch.float64"};
    case c10::ScalarType::ComplexFloat:
      return {GRAPHDBG_COMPLEX64, "torch.complex64"};
    case c10::ScalarType::ComplexDouble:
      return {GRAPHDBG_COMPLEX128, "torch.complex128"};
    case c10::ScalarType::ComplexHalf:
      return {GRAPHDBG_DTYPE_OTHER, "torch.complex32"};
    default:
      return NewerDtypeOf(c10::toString(type));
  }
}

graphdbg_device DeviceOf(c10::DeviceType type) {
  switch (type) {
    case c10::DeviceType::CPU:
      return GRAPHDBG_CPU;
    case c10::DeviceType::CUDA:
      return GRAPHDBG_CUDA;
    case c10::DeviceType::PrivateUse1:
      return GRAPHDBG_NPU;
    default:
      return GRAPHDBG_DEVICE_OTHER;
  }
}

bool HasWrapperKeys(c10::DispatchKeySet keys) {
  return keys.has_any(kWrapper) ||
         keys.has_backend(c10::BackendComponent::MetaBit);
}

c10::StorageImpl* PlainStorage(const at::TensorBase& tensor) {
  if (!tensor.defined()) return nullptr;
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (!IsPlain(impl->key_set()) || !impl->has_storage()) return nullptr;
  if (impl->has_symbolic_sizes_strides() ||
      impl->layout() != c10::Layout::Strided) {
    return nullptr;
  }
  c10::StorageImpl* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  if (storage == nullptr) return nullptr;
  if (storage->data() == nullptr && impl->numel() != 0) return nullptr;
  return storage;
}

uint64_t ViewSignature(const at::TensorBase& tensor) {
  uint64_t hash = 0x9e3779b97f4a7c15u ^ tensor.storage_offset();
  const auto mix = [&hash](int64_t value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  };
  for (const int64_t size : tensor.sizes()) mix(size);
  for (const int64_t stride : tensor.strides()) mix(stride);
  mix(static_cast<int64_t>(tensor.scalar_type()));
  return hash;
}

void DescribeTensor(const at::TensorBase& tensor, c10::StorageImpl* storage,
                    graphdbg_tensor* out) {
  const NamedDtype names = DtypeOf(tensor.scalar_type());
  const c10::Device device = tensor.device();
  *out = {};
  out->struct_size = sizeof(*out);
  out->dtype = names.dtype;
  out->framework_dtype = names.name;
  out->device = DeviceOf(device.type());
  out->device_id = device.has_index() ? device.index() : 0;
  // The const pointer does not materialize a lazy copy.
  const void* base = std::as_const(*storage).data();
  out->data = base == nullptr ? nullptr
                              : static_cast<const char*>(base) +
                                    tensor.storage_offset() * tensor.itemsize();
  out->ndim = static_cast<uint32_t>(tensor.dim());
  out->shape = tensor.sizes().data();
  out->strides = tensor.strides().data();
  out->storage_id = reinterpret_cast<uintptr_t>(storage);
  out->owner = storage;
}

void TensorList::Add(const at::TensorBase& tensor, c10::StorageImpl* storage) {
  DescribeTensor(tensor, storage, &tensors_.emplace_back());
  signatures_.push_back(ViewSignature(tensor));
}

void TensorList::Own() {
  for (size_t i = 0; i < size(); ++i) {
    storages_.push_back(StorageRef::reclaim_copy(storage(i)));
    const graphdbg_tensor& tensor = tensors_[i];
    dimensions_.append(tensor.shape, tensor.shape + tensor.ndim);
    dimensions_.append(tensor.strides, tensor.strides + tensor.ndim);
  }
  const int64_t* next = dimensions_.data();
  for (graphdbg_tensor& tensor : tensors_) {
    tensor.shape = next;
    tensor.strides = next + tensor.ndim;
    next += 2 * tensor.ndim;
  }
}

void TensorList::Clear() {
  tensors_.clear();
  signatures_.clear();
  storages_.clear();
  dimensions_.clear();
}

}  // namespace graphdbg::pytorch
