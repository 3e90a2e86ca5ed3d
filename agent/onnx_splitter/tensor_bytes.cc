#include "agent/onnx_splitter/tensor_bytes.h"

#include <cstdint>

namespace graphdbg::onnx_splitter {
namespace {

using Proto = onnx::TensorProto;

// Converts the values of a wide field to a narrower type.
template <class To, class Values>
std::string Narrowed(const Values& values) {
  std::string bytes;
  bytes.reserve(static_cast<size_t>(values.size()) * sizeof(To));
  for (const auto value : values) {
    const To narrow = static_cast<To>(value);
    bytes.append(reinterpret_cast<const char*>(&narrow), sizeof(To));
  }
  return bytes;
}

}  // namespace

std::string BytesOf(const onnx::TensorProto& tensor) {
  if (tensor.has_raw_data()) return tensor.raw_data();
  switch (tensor.data_type()) {
    case Proto::FLOAT:
    case Proto::COMPLEX64:
      return Narrowed<float>(tensor.float_data());
    case Proto::DOUBLE:
    case Proto::COMPLEX128:
      return Narrowed<double>(tensor.double_data());
    case Proto::INT64:
      return Narrowed<int64_t>(tensor.int64_data());
    case Proto::UINT64:
      return Narrowed<uint64_t>(tensor.uint64_data());
    case Proto::UINT32:
      return Narrowed<uint32_t>(tensor.uint64_data());
    case Proto::INT32:
      return Narrowed<int32_t>(tensor.int32_data());
    case Proto::INT16:
    case Proto::UINT16:
    case Proto::FLOAT16:
    case Proto::BFLOAT16:
      return Narrowed<uint16_t>(tensor.int32_data());
    default:
      return Narrowed<uint8_t>(tensor.int32_data());
  }
}

bool TensorOfConstant(const onnx::NodeProto& node, onnx::TensorProto* tensor) {
  if (node.op_type() != "Constant" || !node.domain().empty() ||
      node.output_size() != 1 || node.attribute_size() != 1) {
    return false;
  }
  const onnx::AttributeProto& value = node.attribute(0);
  if (value.name() == "value" && value.has_t()) {
    *tensor = value.t();
  } else if (value.name() == "value_float") {
    tensor->set_data_type(Proto::FLOAT);
    tensor->add_float_data(value.f());
  } else if (value.name() == "value_int") {
    tensor->set_data_type(Proto::INT64);
    tensor->add_int64_data(value.i());
  } else if (value.name() == "value_floats") {
    tensor->set_data_type(Proto::FLOAT);
    *tensor->mutable_float_data() = value.floats();
    tensor->add_dims(value.floats_size());
  } else if (value.name() == "value_ints") {
    tensor->set_data_type(Proto::INT64);
    *tensor->mutable_int64_data() = value.ints();
    tensor->add_dims(value.ints_size());
  } else {
    return false;
  }
  tensor->set_name(node.output(0));
  return true;
}

}  // namespace graphdbg::onnx_splitter
