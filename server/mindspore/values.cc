#include "server/mindspore/values.h"

#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/wire/utf8.h"
#include "server/mindspore/types.h"
#include "server/tensor/shape.h"

namespace graphdbg::mindspore {
namespace {

using debugger::ValueProto;

constexpr size_t kMaxTextBytes = 1'000;
constexpr int kMaxDepth = 8;

template <class T>
Value Scalar(DType dtype, T number) {
  Value value;
  value.type.dtype = dtype;
  value.data.resize(sizeof(T));
  std::memcpy(value.data.data(), &number, sizeof(T));
  return value;
}

std::optional<Value> TensorOf(const debugger::TensorProto& tensor) {
  Value value;
  value.type = ScalarOf(tensor.data_type());
  value.type.shape.assign(tensor.dims().begin(), tensor.dims().end());
  const auto bytes = tensor::DenseBytes(value.type.dtype, value.type.shape);
  if (!bytes || *bytes != tensor.tensor_content().size()) return std::nullopt;
  value.data = tensor.tensor_content();
  return value;
}

void Append(const ValueProto& value, int depth, std::string& text);

template <class List, class Element>
void AppendList(const List& list, const Element& element, std::string& text) {
  text += "[";
  const char* separator = "";
  for (const auto& each : list) {
    if (text.size() > kMaxTextBytes) break;
    text += separator;
    separator = ", ";
    element(each);
  }
  text += "]";
}

template <class List>
void AppendNumbers(const List& list, std::string& text) {
  AppendList(
      list, [&](auto number) { absl::StrAppend(&text, number); }, text);
}

void AppendRepeated(const ValueProto& value, int depth, std::string& text) {
  if (value.bool_vals_size() > 0) {
    AppendList(
        value.bool_vals(), [&](bool b) { text += b ? "True" : "False"; }, text);
  } else if (value.int_vals_size() > 0) {
    AppendNumbers(value.int_vals(), text);
  } else if (value.uint_vals_size() > 0) {
    AppendNumbers(value.uint_vals(), text);
  } else if (value.float_vals_size() > 0) {
    AppendNumbers(value.float_vals(), text);
  } else if (value.double_vals_size() > 0) {
    AppendNumbers(value.double_vals(), text);
  } else if (value.str_vals_size() > 0) {
    AppendList(
        value.str_vals(), [&](const std::string& s) { text += s; }, text);
  } else if (value.dict_val_size() > 0) {
    AppendList(
        value.dict_val(),
        [&](const debugger::NamedValueProto& entry) {
          absl::StrAppend(&text, entry.key(), ": ");
          Append(entry.value(), depth + 1, text);
        },
        text);
  } else {
    AppendList(
        value.values(),
        [&](const ValueProto& each) { Append(each, depth + 1, text); }, text);
  }
}

void Append(const ValueProto& value, int depth, std::string& text) {
  if (depth > kMaxDepth) {
    text += "...";
  } else if (value.has_str_val()) {
    text += value.str_val();
  } else if (value.has_bool_val()) {
    text += value.bool_val() ? "True" : "False";
  } else if (value.has_int_val()) {
    absl::StrAppend(&text, value.int_val());
  } else if (value.has_uint_val()) {
    absl::StrAppend(&text, value.uint_val());
  } else if (value.has_float_val()) {
    absl::StrAppend(&text, value.float_val());
  } else if (value.has_double_val()) {
    absl::StrAppend(&text, value.double_val());
  } else if (value.has_tensor_val() || value.dtype() == debugger::DT_TENSOR) {
    text += "Tensor";
  } else if (value.has_type_val()) {
    text += model::DTypeName(
        ScalarOf(value.type_val().has_tensor_type()
                     ? value.type_val().tensor_type().elem_type()
                     : value.type_val().data_type()));
  } else {
    AppendRepeated(value, depth, text);
  }
}

}  // namespace

std::optional<Value> ValueOf(const ValueProto& value) {
  if (value.has_tensor_val()) return TensorOf(value.tensor_val());
  if (value.has_bool_val()) return Scalar(DType::kBool, value.bool_val());
  if (value.has_int_val()) return Scalar(DType::kInt64, value.int_val());
  if (value.has_uint_val()) return Scalar(DType::kUint64, value.uint_val());
  if (value.has_float_val()) return Scalar(DType::kFloat32, value.float_val());
  if (value.has_double_val()) {
    return Scalar(DType::kFloat64, value.double_val());
  }
  return std::nullopt;
}

std::string TextOf(const ValueProto& value) {
  std::string text;
  Append(value, 0, text);
  return wire::ToValidUtf8(text, kMaxTextBytes);
}

}  // namespace graphdbg::mindspore
