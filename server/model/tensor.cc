#include "server/model/tensor.h"

#include <utility>

namespace graphdbg::model {
namespace {

// Starts the name of a type that only the framework knows, so that such a name
// never equals that of a type whose values can be read.
constexpr std::string_view kOtherPrefix = "other:";

}  // namespace

std::string DTypeName(const TensorType& type) {
  if (type.dtype == DType::kUnspecified) return {};
  if (type.dtype != DType::kOther || type.framework_dtype.empty()) {
    return ToString(type.dtype);
  }
  return std::string(kOtherPrefix) + type.framework_dtype;
}

TensorType ParseTensorType(std::string_view dtype_name,
                           std::vector<int64_t> shape) {
  if (dtype_name.empty()) return {DType::kUnspecified, std::move(shape)};
  if (const auto dtype = ParseDType(dtype_name)) {
    return {*dtype, std::move(shape)};
  }
  if (dtype_name.starts_with(kOtherPrefix)) {
    dtype_name.remove_prefix(kOtherPrefix.size());
  }
  return {DType::kOther, std::move(shape), std::string(dtype_name)};
}

}  // namespace graphdbg::model
