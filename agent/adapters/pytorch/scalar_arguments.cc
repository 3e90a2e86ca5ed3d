#include "agent/adapters/pytorch/scalar_arguments.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace graphdbg::pytorch {
namespace {

// Longer lists and texts are cut off.
constexpr size_t kMaxElements = 8;
constexpr size_t kMaxTextBytes = 200;

// Numbers that stand for names of types and layouts.
constexpr std::array<std::string_view, 8> kNotShown = {
    "dtype",         "layout",       "device",    "pin_memory",
    "memory_format", "non_blocking", "out_dtype", "generator"};

bool IsShown(const std::string& name) {
  return std::find(kNotShown.begin(), kNotShown.end(), name) == kNotShown.end();
}

// The shortest text that has this value.
std::string NumberText(double value) {
  char text[40];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

std::string ScalarText(const c10::IValue& value) {
  if (value.isBool()) return value.toBool() ? "True" : "False";
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isDouble()) return NumberText(value.toDouble());
  if (!value.isTensor() || !value.toTensor().defined()) return "";
  const at::Tensor& tensor = value.toTensor();
  if (!tensor.unsafeGetTensorImpl()->is_wrapped_number() ||
      !tensor.device().is_cpu()) {
    return "";
  }
  // Reads the memory: an op such as item() would be traced.
  if (tensor.scalar_type() == at::kDouble) {
    return NumberText(*static_cast<const double*>(tensor.data_ptr()));
  }
  if (tensor.scalar_type() == at::kLong) {
    return std::to_string(*static_cast<const int64_t*>(tensor.data_ptr()));
  }
  return "";
}

std::string ListText(c10::ArrayRef<c10::IValue> elements) {
  std::string text;
  for (size_t i = 0; i < elements.size() && i < kMaxElements; ++i) {
    const std::string element = ScalarText(elements[i]);
    if (element.empty()) return "";
    text += (i == 0 ? "" : ", ") + element;
  }
  if (elements.size() > kMaxElements) text += ", …";
  return "[" + text + "]";
}

template <class T>
std::string NumbersText(const std::vector<T>& numbers) {
  std::vector<c10::IValue> elements;
  const size_t count = std::min(numbers.size(), kMaxElements + 1);
  for (size_t i = 0; i < count; ++i) elements.emplace_back(numbers[i]);
  return ListText(elements);
}

std::string ArgumentText(const c10::IValue& value) {
  if (value.isIntList()) return NumbersText(value.toIntVector());
  if (value.isDoubleList()) return NumbersText(value.toDoubleVector());
  if (value.isTensorList() || value.isOptionalTensorList()) return "";
  if (value.isList()) return ListText(value.toListRef());
  if (value.isString()) return value.toStringRef().substr(0, kMaxTextBytes);
  return ScalarText(value);
}

}  // namespace

ScalarArguments ScalarArgumentsOf(const OpInfo& op, OpValues arguments) {
  ScalarArguments scalars;
  const size_t count = std::min(arguments.size(), op.argument_names.size());
  for (size_t i = 0; i < count; ++i) {
    if (!IsShown(op.argument_names[i])) continue;
    std::string text = ArgumentText(arguments[i].Box());
    if (text.empty()) continue;
    scalars.emplace_back(op.argument_names[i], std::move(text));
  }
  return scalars;
}

}  // namespace graphdbg::pytorch
