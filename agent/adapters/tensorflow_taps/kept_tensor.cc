#include "agent/adapters/tensorflow_taps/kept_tensor.h"

namespace graphdbg::tensorflow_taps {
namespace {

graphdbg_dtype DtypeOf(int type) {
  switch (type) {
    case kFloat:
      return GRAPHDBG_FLOAT32;
    case kDouble:
      return GRAPHDBG_FLOAT64;
    case kInt32:
      return GRAPHDBG_INT32;
    case kUint8:
      return GRAPHDBG_UINT8;
    case kInt16:
      return GRAPHDBG_INT16;
    case kInt8:
      return GRAPHDBG_INT8;
    case kComplex64:
      return GRAPHDBG_COMPLEX64;
    case kInt64:
      return GRAPHDBG_INT64;
    case kBool:
      return GRAPHDBG_BOOL;
    case kBfloat16:
      return GRAPHDBG_BFLOAT16;
    case kUint16:
      return GRAPHDBG_UINT16;
    case kComplex128:
      return GRAPHDBG_COMPLEX128;
    case kHalf:
      return GRAPHDBG_FLOAT16;
    case kUint32:
      return GRAPHDBG_UINT32;
    case kUint64:
      return GRAPHDBG_UINT64;
    case kFloat8E5m2:
      return GRAPHDBG_FLOAT8_E5M2;
    case kFloat8E4m3fn:
      return GRAPHDBG_FLOAT8_E4M3FN;
    default:
      return GRAPHDBG_DTYPE_OTHER;
  }
}

}  // namespace

graphdbg_tensor KeptTensor::Describe() {
  const CApi& tf = Tf();
  graphdbg_tensor view = {};
  view.struct_size = sizeof(view);
  view.device = GRAPHDBG_CPU;
  view.dtype = DtypeOf(tf.TensorType(tensor_));
  const int dimensions = tf.NumDims(tensor_);
  if (dimensions < 0 || dimensions > kMaxDimensions) return view;
  view.ndim = static_cast<uint32_t>(dimensions);
  for (int i = 0; i < dimensions; ++i) {
    shape_[static_cast<size_t>(i)] = tf.Dim(tensor_, i);
  }
  view.shape = shape_.data();
  if (view.dtype == GRAPHDBG_DTYPE_OTHER) return view;
  view.data = tf.TensorData(tensor_);
  view.storage_id = reinterpret_cast<uintptr_t>(view.data);
  view.owner = this;
  return view;
}

}  // namespace graphdbg::tensorflow_taps
