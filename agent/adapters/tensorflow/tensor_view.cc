#include "agent/adapters/tensorflow/tensor_view.h"

#include "tensorflow/core/common_runtime/dma_helper.h"

namespace graphdbg::tensorflow {
namespace {

struct NamedDtype {
  graphdbg_dtype dtype;
  const char* name;
};

NamedDtype DtypeOf(::tensorflow::DataType type) {
  switch (type) {
    case ::tensorflow::DT_BOOL:
      return {GRAPHDBG_BOOL, "bool"};
    case ::tensorflow::DT_INT8:
      return {GRAPHDBG_INT8, "int8"};
    case ::tensorflow::DT_INT16:
      return {GRAPHDBG_INT16, "int16"};
    case ::tensorflow::DT_INT32:
      return {GRAPHDBG_INT32, "int32"};
    case ::tensorflow::DT_INT64:
      return {GRAPHDBG_INT64, "int64"};
    case ::tensorflow::DT_UINT8:
      return {GRAPHDBG_UINT8, "uint8"};
    case ::tensorflow::DT_UINT16:
      return {GRAPHDBG_UINT16, "uint16"};
    case ::tensorflow::DT_UINT32:
      return {GRAPHDBG_UINT32, "uint32"};
    case ::tensorflow::DT_UINT64:
      return {GRAPHDBG_UINT64, "uint64"};
    case ::tensorflow::DT_HALF:
      return {GRAPHDBG_FLOAT16, "float16"};
    case ::tensorflow::DT_BFLOAT16:
      return {GRAPHDBG_BFLOAT16, "bfloat16"};
    case ::tensorflow::DT_FLOAT:
      return {GRAPHDBG_FLOAT32, "float32"};
    case ::tensorflow::DT_DOUBLE:
      return {GRAPHDBG_FLOAT64, "float64"};
    case ::tensorflow::DT_COMPLEX64:
      return {GRAPHDBG_COMPLEX64, "complex64"};
    case ::tensorflow::DT_COMPLEX128:
      return {GRAPHDBG_COMPLEX128, "complex128"};
    case ::tensorflow::DT_FLOAT8_E4M3FN:
      return {GRAPHDBG_FLOAT8_E4M3FN, "float8_e4m3fn"};
    case ::tensorflow::DT_FLOAT8_E5M2:
      return {GRAPHDBG_FLOAT8_E5M2, "float8_e5m2"};
    default:
      return {GRAPHDBG_DTYPE_OTHER, nullptr};
  }
}

::tensorflow::TensorBuffer* BufferOf(const ::tensorflow::Tensor& tensor) {
  // The agent only counts references.
  return const_cast<::tensorflow::TensorBuffer*>(
      ::tensorflow::DMAHelper::buffer(&tensor));
}

}  // namespace

bool IsFloating(::tensorflow::DataType type) {
  const graphdbg_dtype dtype = DtypeOf(type).dtype;
  return (dtype >= GRAPHDBG_FLOAT16 && dtype <= GRAPHDBG_COMPLEX128) ||
         dtype == GRAPHDBG_FLOAT8_E4M3FN || dtype == GRAPHDBG_FLOAT8_E5M2;
}

void DescribeTensor(const ::tensorflow::Tensor& tensor, bool on_host,
                    int64_t* shape, graphdbg_tensor* out) {
  const NamedDtype names = DtypeOf(tensor.dtype());
  *out = {};
  out->struct_size = sizeof(*out);
  out->dtype = names.dtype;
  out->framework_dtype = names.name;
  out->device = on_host ? GRAPHDBG_CPU : GRAPHDBG_DEVICE_OTHER;
  out->ndim = static_cast<uint32_t>(tensor.dims());
  for (int i = 0; i < tensor.dims(); ++i) shape[i] = tensor.dim_size(i);
  out->shape = shape;
  if (!on_host || names.dtype == GRAPHDBG_DTYPE_OTHER) return;
  ::tensorflow::TensorBuffer* const buffer = BufferOf(tensor);
  if (buffer == nullptr) return;
  out->data = buffer->data();
  out->storage_id = reinterpret_cast<uintptr_t>(buffer->root_buffer());
  out->owner = buffer;
}

void TensorView::Describe(const ::tensorflow::Tensor& tensor, bool on_host) {
  DescribeTensor(tensor, on_host, shape_.data(), &view_);
}

void Retain(void* owner) {
  static_cast<::tensorflow::TensorBuffer*>(owner)->Ref();
}

void Release(void* owner) {
  static_cast<::tensorflow::TensorBuffer*>(owner)->Unref();
}

}  // namespace graphdbg::tensorflow
