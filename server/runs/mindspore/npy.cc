#include "server/runs/mindspore/npy.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/string_views.h"
#include "server/runs/mindspore/dump_name.h"
#include "server/tensor/shape.h"

namespace graphdbg::dumps {
namespace {

using recorded::StoredTensor;
using std::string_view;

constexpr string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxDimensions = 64;

// Without the character for the order of bytes.
constexpr std::array<std::pair<string_view, DType>, 16> kTypes = {{
    {"b1", DType::kBool},
    {"i1", DType::kInt8},
    {"i2", DType::kInt16},
    {"i4", DType::kInt32},
    {"i8", DType::kInt64},
    {"u1", DType::kUint8},
    {"u2", DType::kUint16},
    {"u4", DType::kUint32},
    {"u8", DType::kUint64},
    {"f2", DType::kFloat16},
    {"f4", DType::kFloat32},
    {"f8", DType::kFloat64},
    {"c8", DType::kComplex64},
    {"c16", DType::kComplex128},
    // How NumPy writes ml_dtypes.bfloat16.
    {"V2", DType::kBfloat16},
    {"bfloat16", DType::kBfloat16},
}};

absl::Status Bad(string_view what) {
  return absl::DataLossError(absl::StrCat("npy header: ", ToAbsl(what)));
}

uint64_t LittleEndian(string_view bytes) {
  uint64_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

// The text that follows 'key': in a Python dictionary.
std::optional<string_view> ValueOf(string_view key, string_view text) {
  const std::string quoted = absl::StrCat("'", ToAbsl(key), "':");
  const size_t at = text.find(quoted);
  if (at == string_view::npos) return std::nullopt;
  text.remove_prefix(at + quoted.size());
  const size_t begin = text.find_first_not_of(' ');
  return begin == string_view::npos ? std::nullopt
                                    : std::optional(text.substr(begin));
}

absl::StatusOr<model::TensorType> TypeOf(string_view text) {
  const auto value = ValueOf("descr", text);
  if (!value || !value->starts_with('\'')) return Bad("it has no descr");
  string_view name = value->substr(1);
  const size_t end = name.find('\'');
  if (end == string_view::npos) return Bad("its descr does not end");
  name = name.substr(0, end);
  if (name.starts_with('>')) {
    return absl::UnimplementedError("the values are big-endian");
  }
  string_view type = name;
  if (!type.empty() && string_view("<|=").find(type[0]) != string_view::npos) {
    type.remove_prefix(1);
  }
  for (const auto& [known, dtype] : kTypes) {
    if (known == type) return model::TensorType{dtype, {}};
  }
  return model::TensorType{DType::kOther, {}, std::string(name)};
}

absl::Status ReadShape(string_view text, std::vector<int64_t>& shape) {
  const auto value = ValueOf("shape", text);
  const size_t end = value ? value->find(')') : string_view::npos;
  if (end == string_view::npos || !value->starts_with('(')) {
    return Bad("it has no shape");
  }
  string_view sizes = value->substr(1, end - 1);
  while (!sizes.empty()) {
    const size_t comma = sizes.find(',');
    string_view size = sizes.substr(0, comma);
    sizes.remove_prefix(comma == string_view::npos ? sizes.size() : comma + 1);
    while (size.starts_with(' ')) size.remove_prefix(1);
    while (size.ends_with(' ')) size.remove_suffix(1);
    if (size.empty() && sizes.empty()) break;
    const auto number = ParseNumber(size);
    if (!number || *number > INT64_MAX) return Bad("a size is no number");
    shape.push_back(static_cast<int64_t>(*number));
    if (shape.size() > kMaxDimensions) return Bad("more than 64 dimensions");
  }
  return absl::OkStatus();
}

// At most one size is above 1, so rows and columns are the same.
bool IsLine(const std::vector<int64_t>& shape) {
  return std::count_if(shape.begin(), shape.end(),
                       [](int64_t size) { return size != 1; }) <= 1;
}

}  // namespace

absl::StatusOr<StoredTensor> ParseNpyHeader(string_view begin,
                                            uint64_t file_bytes) {
  constexpr size_t kVersionEnd = 8;
  if (!begin.starts_with(kMagic) || begin.size() < kVersionEnd) {
    return Bad("the file does not begin like an npy file");
  }
  const int version = begin[kMagic.size()];
  if (version < 1 || version > 3) return Bad("of an unknown version");
  const size_t size_bytes = version == 1 ? 2 : 4;
  if (begin.size() < kVersionEnd + size_bytes)
    return Bad("the file ends in it");
  const uint64_t size = LittleEndian(begin.substr(kVersionEnd, size_bytes));
  const uint64_t offset = kVersionEnd + size_bytes + size;
  if (size > kMaxNpyHeaderBytes) {
    return Bad(absl::StrCat("it has ", size, " bytes; the limit is ",
                            kMaxNpyHeaderBytes));
  }
  if (offset > begin.size() || offset > file_bytes) {
    return Bad("the file ends in it");
  }
  const string_view text = begin.substr(kVersionEnd + size_bytes, size);
  StoredTensor tensor;
  ASSIGN_OR_RETURN(tensor.type, TypeOf(text));
  RETURN_IF_ERROR(ReadShape(text, tensor.type.shape));
  const auto order = ValueOf("fortran_order", text);
  if (!order) return Bad("it has no fortran_order");
  if (!order->starts_with("False") && !IsLine(tensor.type.shape)) {
    return absl::UnimplementedError("the values are column-major");
  }
  tensor.offset = offset;
  tensor.bytes = file_bytes - offset;
  if (tensor.type.dtype == DType::kOther) return tensor;
  const auto expected =
      tensor::DenseBytes(tensor.type.dtype, tensor.type.shape);
  if (!expected || *expected > tensor.bytes) {
    return absl::DataLossError(
        absl::StrCat("the file has ", tensor.bytes,
                     " bytes of values, fewer than its type and shape need"));
  }
  tensor.bytes = *expected;
  return tensor;
}

absl::StatusOr<StoredTensor> ReadNpyHeader(const recorded::File& file) {
  // Longer than all headers that MindSpore and NumPy write.
  std::string begin(512, '\0');
  ASSIGN_OR_RETURN(size_t count, file.ReadAt(0, begin));
  begin.resize(count);
  const uint64_t file_bytes = file.size();
  auto tensor = ParseNpyHeader(begin, file_bytes);
  if (tensor.ok() || begin.size() >= file_bytes) return tensor;
  begin.resize(kMaxNpyHeaderBytes);
  ASSIGN_OR_RETURN(count, file.ReadAt(0, begin));
  begin.resize(count);
  return ParseNpyHeader(begin, file_bytes);
}

}  // namespace graphdbg::dumps
