#include "agent/recording/safetensors_header.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/tensor/dtype.h"

namespace graphdbg::recording {
namespace {

using Json = nlohmann::ordered_json;

// "complex128.": the format lacks this type. Its tensors are float64, with a
// last dimension of 2, and have an entry in the metadata.
constexpr absl::string_view kComplexPrefix = "complex128.";
// `{"__metadata__":{"run":"","rank":"12345",...}}` without what is counted.
constexpr uint64_t kFixedMetadataBytes = 512;
// `"":{"dtype":"F8_E4M3","shape":[],"data_offsets":[,]},` with two offsets, and
// the numbers of a slot, a pass and an execution.
constexpr uint64_t kFixedEntryBytes = 112;
// `"complex128.":"1",` with these numbers, and a last dimension.
constexpr uint64_t kFixedComplexBytes = 48;
constexpr uint64_t kDigitsOfSize = 20;

const char* NameOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "BOOL";
    case DType::kInt8:
      return "I8";
    case DType::kInt16:
      return "I16";
    case DType::kInt32:
      return "I32";
    case DType::kInt64:
      return "I64";
    case DType::kUint8:
      return "U8";
    case DType::kUint16:
      return "U16";
    case DType::kUint32:
      return "U32";
    case DType::kUint64:
      return "U64";
    case DType::kFloat16:
      return "F16";
    case DType::kBfloat16:
      return "BF16";
    case DType::kFloat32:
      return "F32";
    case DType::kFloat64:
    case DType::kComplex128:
      return "F64";
    case DType::kComplex64:
      return "C64";
    case DType::kFloat8E4m3fn:
      return "F8_E4M3";
    case DType::kFloat8E5m2:
      return "F8_E5M2";
    case DType::kUnspecified:
    case DType::kOther:
      break;
  }
  return "";
}

// The most that the text takes in JSON.
uint64_t QuotedBytes(absl::string_view text) {
  uint64_t bytes = 0;
  for (const char c : text) {
    const bool escaped = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    bytes += escaped ? 6 : c == '"' || c == '\\' ? 2 : 1;
  }
  return bytes;
}

std::string KeyOf(const SavedTensor& tensor) {
  std::string key = absl::StrCat(tensor.node_name, ":", tensor.record->slot);
  if (tensor.record->pass > 1) absl::StrAppend(&key, "#", tensor.record->pass);
  return key;
}

Json EntryOf(const runs::Record& record) {
  const runs::TensorFields& tensor = record.tensor;
  Json shape = Json::array();
  for (int d = 0; d < tensor.ndim; ++d) shape.push_back(tensor.shape[d]);
  const DType dtype = DTypeFromNumber(record.dtype);
  if (dtype == DType::kComplex128) shape.push_back(2);
  return {{"dtype", NameOf(dtype)},
          {"shape", std::move(shape)},
          {"data_offsets", {tensor.offset, tensor.offset + tensor.bytes}}};
}

}  // namespace

uint64_t HeaderEntryBytes(const SavedTensor& tensor) {
  const uint64_t name = QuotedBytes(tensor.node_name);
  uint64_t bytes = name + kFixedEntryBytes +
                   tensor.record->tensor.ndim * (kDigitsOfSize + 1);
  if (DTypeFromNumber(tensor.record->dtype) == DType::kComplex128) {
    bytes += name + kFixedComplexBytes;
  }
  return bytes;
}

uint64_t MetadataBytes(const FileOwner& owner) {
  return QuotedBytes(owner.run) + QuotedBytes(owner.version) +
         kFixedMetadataBytes;
}

std::string EncodeHeader(const FileOwner& owner,
                         const std::vector<SavedTensor>& tensors,
                         uint64_t data_start) {
  Json header = Json::object();
  Json& metadata = header["__metadata__"];
  metadata = {{"run", owner.run}, {"rank", absl::StrCat(owner.rank)}};
  if (!tensors.empty()) {
    const runs::Record& first = *tensors.front().record;
    metadata["step"] = absl::StrCat(first.step);
    metadata["mode"] = runs::ToString(static_cast<runs::Mode>(first.mode));
    metadata["pass"] = absl::StrCat(first.pass);
  }
  metadata["graphdbg.version"] = owner.version;
  // Objects of this kind search for a key in the order of insertion, which
  // takes long for thousands: the entries are appended as text.
  std::unordered_map<std::string, int> executions;
  std::string entries;
  for (const SavedTensor& tensor : tensors) {
    std::string key = KeyOf(tensor);
    if (const int n = ++executions[key]; n > 1) absl::StrAppend(&key, "~", n);
    absl::StrAppend(&entries, ",", Json(key).dump(), ":",
                    EntryOf(*tensor.record).dump());
    if (DTypeFromNumber(tensor.record->dtype) == DType::kComplex128) {
      metadata[absl::StrCat(kComplexPrefix, key)] = "1";
    }
  }
  std::string text =
      header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.insert(text.size() - 1, entries);
  const uint64_t room = data_start - sizeof(uint64_t);
  text.resize(room, ' ');
  std::string bytes(sizeof(room), '\0');
  std::memcpy(bytes.data(), &room, sizeof(room));
  return bytes + text;
}

}  // namespace graphdbg::recording
