#include "server/tensor/tensor_file.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"

namespace graphdbg::tensor {
namespace {

// Names of the type. Null if the format lacks it.
struct Row {
  DType dtype;
  const char* npy;
  const char* safetensors;
};

constexpr Row kRows[] = {
    {DType::kBool, "|b1", "BOOL"},
    {DType::kInt8, "|i1", "I8"},
    {DType::kUint8, "|u1", "U8"},
    {DType::kInt16, "<i2", "I16"},
    {DType::kUint16, "<u2", "U16"},
    {DType::kInt32, "<i4", "I32"},
    {DType::kUint32, "<u4", "U32"},
    {DType::kInt64, "<i8", "I64"},
    {DType::kUint64, "<u8", "U64"},
    {DType::kFloat16, "<f2", "F16"},
    {DType::kBfloat16, nullptr, "BF16"},
    {DType::kFloat32, "<f4", "F32"},
    {DType::kFloat64, "<f8", "F64"},
    {DType::kComplex64, "<c8", "C64"},
    {DType::kComplex128, "<c16", nullptr},
    {DType::kFloat8E4m3fn, nullptr, "F8_E4M3"},
    {DType::kFloat8E5m2, nullptr, "F8_E5M2"},
};

absl::StatusOr<std::string> TypeName(FileFormat format,
                                     const model::TensorType& type) {
  for (const Row& row : kRows) {
    if (row.dtype != type.dtype) continue;
    const bool npy = format == FileFormat::kNpy;
    if (const char* name = npy ? row.npy : row.safetensors) return name;
    return WithField(Error(absl::StatusCode::kInvalidArgument, "no_such_dtype",
                           absl::StrCat(npy ? "npy" : "safetensors", " has no ",
                                        ToString(type.dtype), "; ask for ",
                                        npy ? "safetensors" : "npy")),
                     "format");
  }
  return Error(absl::StatusCode::kUnimplemented, "unreadable_dtype",
               absl::StrCat("values of type ", model::DTypeName(type),
                            " cannot be read"));
}

// Format version 1.0 of numpy.lib.format. Elements start at a multiple of 64.
std::string NpyHeader(const std::string& descr,
                      const std::vector<int64_t>& shape) {
  constexpr size_t kAlignment = 64;
  constexpr size_t kPreambleBytes = 10;
  std::string text = absl::StrCat("{'descr': '", descr,
                                  "', 'fortran_order': False, 'shape': (");
  for (size_t i = 0; i < shape.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : " ", shape[i], ",");
  }
  if (shape.size() > 1) text.pop_back();
  text += "), }";
  while ((kPreambleBytes + text.size() + 1) % kAlignment != 0) text += ' ';
  text += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

std::string SafetensorsHeader(const std::string& dtype,
                              const FileTensor& tensor) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  header["__metadata__"] = tensor.metadata;
  header[tensor.name] = {
      {"dtype", dtype},
      {"shape", tensor.type.shape},
      {"data_offsets", std::vector<uint64_t>{0, tensor.bytes}}};
  std::string text = header.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  while (text.size() % 8 != 0) text += ' ';
  const uint64_t size = text.size();
  std::string head(sizeof size, '\0');
  std::memcpy(head.data(), &size, sizeof size);
  return head + text;
}

}  // namespace

absl::StatusOr<std::string> FileHeader(FileFormat format,
                                       const FileTensor& tensor) {
  ASSIGN_OR_RETURN(const std::string type, TypeName(format, tensor.type));
  return format == FileFormat::kNpy ? NpyHeader(type, tensor.type.shape)
                                    : SafetensorsHeader(type, tensor);
}

}  // namespace graphdbg::tensor
