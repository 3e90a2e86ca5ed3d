#include "server/runs/safetensors.h"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/string_views.h"
#include "server/tensor/shape.h"

namespace graphdbg::recorded {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kSizeBytes = 8;
constexpr char kMetadata[] = "__metadata__";
// complex128, which the format lacks, is written as float64 with a last
// dimension of 2, and named in the metadata.
constexpr char kComplexKey[] = "complex128";

constexpr std::array<std::pair<std::string_view, DType>, 16> kTypes = {{
    {"BOOL", DType::kBool},
    {"I8", DType::kInt8},
    {"I16", DType::kInt16},
    {"I32", DType::kInt32},
    {"I64", DType::kInt64},
    {"U8", DType::kUint8},
    {"U16", DType::kUint16},
    {"U32", DType::kUint32},
    {"U64", DType::kUint64},
    {"F16", DType::kFloat16},
    {"BF16", DType::kBfloat16},
    {"F32", DType::kFloat32},
    {"F64", DType::kFloat64},
    {"C64", DType::kComplex64},
    {"F8_E4M3", DType::kFloat8E4m3fn},
    {"F8_E5M2", DType::kFloat8E5m2},
}};

absl::Status Bad(std::string_view tensor, std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("tensor '", ToAbsl(tensor), "': ", ToAbsl(what)));
}

model::TensorType TypeNamed(const std::string& name) {
  for (const auto& [known, dtype] : kTypes) {
    if (known == name) return {dtype, {}};
  }
  return {DType::kOther, {}, name};
}

absl::Status ReadShape(std::string_view tensor, const Json& json,
                       std::vector<int64_t>& shape) {
  if (!json.is_array() || json.size() > 64) {
    return Bad(tensor, "its shape is no list of at most 64 sizes");
  }
  for (const Json& size : json) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > INT64_MAX) {
      return Bad(tensor, "a size in its shape is no whole number");
    }
    shape.push_back(static_cast<int64_t>(size.get<uint64_t>()));
  }
  return absl::OkStatus();
}

absl::Status ReadPlace(std::string_view tensor, const Json& json,
                       uint64_t data_begin, uint64_t file_bytes,
                       StoredTensor& to) {
  const bool pair = json.is_array() && json.size() == 2 &&
                    json[0].is_number_unsigned() &&
                    json[1].is_number_unsigned();
  if (!pair) return Bad(tensor, "its data_offsets are no two numbers");
  const uint64_t begin = json[0].get<uint64_t>();
  const uint64_t end = json[1].get<uint64_t>();
  if (begin > end || end > file_bytes - data_begin) {
    return Bad(tensor, absl::StrCat("its bytes ", begin, " to ", end,
                                    " are not within the data of ",
                                    file_bytes - data_begin, " bytes"));
  }
  to.offset = data_begin + begin;
  to.bytes = end - begin;
  if (to.type.dtype == DType::kOther) return absl::OkStatus();
  const auto expected = tensor::DenseBytes(to.type.dtype, to.type.shape);
  if (expected != to.bytes) {
    return Bad(tensor, "its size does not match its type and shape");
  }
  return absl::OkStatus();
}

absl::StatusOr<StoredTensor> ReadTensor(std::string_view name, const Json& json,
                                        uint64_t data_begin,
                                        uint64_t file_bytes) {
  const auto dtype = json.find("dtype");
  const auto shape = json.find("shape");
  const auto place = json.find("data_offsets");
  if (!json.is_object() || dtype == json.end() || !dtype->is_string() ||
      shape == json.end() || place == json.end()) {
    return Bad(name, "it lacks dtype, shape or data_offsets");
  }
  StoredTensor tensor;
  tensor.type = TypeNamed(dtype->get_ref<const std::string&>());
  RETURN_IF_ERROR(ReadShape(name, *shape, tensor.type.shape));
  RETURN_IF_ERROR(ReadPlace(name, *place, data_begin, file_bytes, tensor));
  return tensor;
}

bool IsComplex128(const Json& metadata, const std::string& name,
                  const model::TensorType& type) {
  if (type.dtype != DType::kFloat64 || type.shape.empty() ||
      type.shape.back() != 2 || !metadata.is_object()) {
    return false;
  }
  const auto found = metadata.find(absl::StrCat(kComplexKey, ".", name));
  return found != metadata.end();
}

}  // namespace

absl::StatusOr<uint64_t> HeaderBytes(std::string_view first,
                                     uint64_t file_bytes) {
  if (first.size() < kSizeBytes || file_bytes < kSizeBytes) {
    return absl::DataLossError("the file is shorter than its header's size");
  }
  uint64_t size;
  std::memcpy(&size, first.data(), sizeof size);
  if (size > kMaxHeaderBytes || size > file_bytes - kSizeBytes) {
    return absl::DataLossError(
        absl::StrCat("a header of ", size, " bytes in a file of ", file_bytes,
                     "; the limit is ", kMaxHeaderBytes));
  }
  return size;
}

absl::StatusOr<StoredTensors> ParseHeader(std::string_view text,
                                          uint64_t file_bytes) {
  if (text.size() > file_bytes || file_bytes - text.size() < kSizeBytes) {
    return absl::DataLossError("the header exceeds the file");
  }
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    return absl::DataLossError("the header is no JSON object");
  }
  const auto found = json.find(kMetadata);
  const Json metadata = found == json.end() ? Json() : *found;
  StoredTensors tensors;
  for (const auto& [name, entry] : json.items()) {
    if (name == kMetadata) continue;
    ASSIGN_OR_RETURN(
        StoredTensor tensor,
        ReadTensor(name, entry, kSizeBytes + text.size(), file_bytes));
    if (IsComplex128(metadata, name, tensor.type)) {
      tensor.type.dtype = DType::kComplex128;
      tensor.type.shape.pop_back();
    }
    tensors.emplace(name, std::move(tensor));
  }
  return tensors;
}

}  // namespace graphdbg::recorded
