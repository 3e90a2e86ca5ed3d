#include "server/mindspore/types.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace graphdbg::mindspore {
namespace {

// No operator has this many outputs. Without a limit, a client could request
// large amounts of memory with two bytes per output.
constexpr int kMaxOutputs = 10'000;
constexpr int kMaxDimensions = 64;

// The result is empty unless the whole shape is known.
model::TensorType TypeOf(const debugger::TypeProto::Tensor& tensor) {
  if (tensor.shape().dim_size() > kMaxDimensions) return {};
  model::TensorType info = ScalarOf(tensor.elem_type());
  for (const auto& dim : tensor.shape().dim()) {
    if (dim.size() < 0) return {};
    info.shape.push_back(dim.size());
  }
  return info;
}

model::TensorType TypeOf(const debugger::TypeProto& type) {
  if (type.has_tensor_type()) return TypeOf(type.tensor_type());
  model::TensorType scalar;
  const DType dtype = DTypeOf(type.data_type());
  if (ItemSize(dtype) > 0) scalar.dtype = dtype;
  return scalar;
}

// Element types of tuples have no shape.
model::TensorType TypeInTuple(const debugger::TypeProto& type) {
  if (type.has_tensor_type() && !type.tensor_type().has_shape()) return {};
  return TypeOf(type);
}

}  // namespace

DType DTypeOf(int data_type) {
  switch (data_type) {
    case debugger::DT_UNDEFINED:
      return DType::kUnspecified;
    case debugger::DT_BOOL:
      return DType::kBool;
    case debugger::DT_INT8:
      return DType::kInt8;
    case debugger::DT_INT16:
      return DType::kInt16;
    case debugger::DT_INT32:
    case debugger::DT_BASE_INT:
      return DType::kInt32;
    case debugger::DT_INT64:
      return DType::kInt64;
    case debugger::DT_UINT8:
      return DType::kUint8;
    case debugger::DT_UINT16:
      return DType::kUint16;
    case debugger::DT_UINT32:
    case debugger::DT_BASE_UINT:
      return DType::kUint32;
    case debugger::DT_UINT64:
      return DType::kUint64;
    case debugger::DT_FLOAT16:
      return DType::kFloat16;
    case debugger::DT_FLOAT32:
    case debugger::DT_BASE_FLOAT:
      return DType::kFloat32;
    case debugger::DT_FLOAT64:
      return DType::kFloat64;
    default:
      return DType::kOther;
  }
}

model::TensorType ScalarOf(int data_type) {
  model::TensorType scalar{DTypeOf(data_type), {}};
  if (scalar.dtype != DType::kOther) return scalar;
  scalar.framework_dtype =
      debugger::DataType_IsValid(data_type)
          ? debugger::DataType_Name(static_cast<debugger::DataType>(data_type))
          : absl::StrCat(data_type);
  return scalar;
}

std::vector<model::Output> OutputsOf(const debugger::TypeProto& type) {
  std::vector<model::Output> outputs;
  if (type.has_sequence_type()) {
    for (const auto& element : type.sequence_type().elem_types()) {
      if (outputs.size() >= kMaxOutputs) break;
      outputs.push_back(
          {static_cast<uint32_t>(outputs.size()), TypeInTuple(element)});
    }
    return outputs;
  }
  switch (type.data_type()) {
    case debugger::DT_NONE:
    case debugger::DT_UMONAD:
    case debugger::DT_IOMONAD:
      return outputs;
    default:
      outputs.push_back({0, TypeOf(type)});
      return outputs;
  }
}

}  // namespace graphdbg::mindspore
