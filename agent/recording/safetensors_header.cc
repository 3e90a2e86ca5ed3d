#include "agent/recording/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
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

// Keys of tensors, distinct even if a node executed several times in a pass.
class Keys {
 public:
  std::string Next(const SavedTensor& tensor) {
    const uint16_t pass = std::max<uint16_t>(tensor.record->pass, 1);
    std::string key = absl::StrCat(tensor.node_name, ":", tensor.record->slot);
    if (pass > 1) absl::StrAppend(&key, "#", pass);
    const int execution =
        ++executions_[{tensor.node_name, tensor.record->slot, pass}];
    if (execution > 1) absl::StrAppend(&key, "~", execution);
    return key;
  }

 private:
  absl::flat_hash_map<std::tuple<absl::string_view, uint16_t, uint16_t>, int>
      executions_;
};

// Objects and texts of the library take long for thousands of tensors: those
// whose names need no escapes are appended as they are.
void AppendQuoted(const std::string& text, std::string* json) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
  });
  if (plain) {
    absl::StrAppend(json, "\"", text, "\"");
  } else {
    absl::StrAppend(json, Json(text).dump());
  }
}

void AppendEntry(const std::string& key, const runs::Record& record,
                 std::string* json) {
  const runs::TensorFields& tensor = record.tensor;
  const DType dtype = DTypeFromNumber(record.dtype);
  json->push_back(',');
  AppendQuoted(key, json);
  absl::StrAppend(
      json, ":{\"dtype\":\"", NameOf(dtype), "\",\"shape\":[",
      absl::StrJoin(absl::MakeSpan(tensor.shape, tensor.ndim), ","));
  if (dtype == DType::kComplex128) {
    absl::StrAppend(json, tensor.ndim > 0 ? ",2" : "2");
  }
  absl::StrAppend(json, "],\"data_offsets\":[", tensor.offset, ",",
                  tensor.offset + tensor.bytes, "]}");
}

std::string MetadataOf(const FileOwner& owner,
                       const std::vector<SavedTensor>& tensors) {
  Json metadata = {{"run", owner.run}, {"rank", absl::StrCat(owner.rank)}};
  if (!tensors.empty()) {
    const runs::Record& first = *tensors.front().record;
    metadata["step"] = absl::StrCat(first.step);
    metadata["mode"] = runs::ToString(static_cast<runs::Mode>(first.mode));
    metadata["pass"] = absl::StrCat(first.pass);
  }
  metadata["graphdbg.version"] = owner.version;
  return metadata.dump(-1, ' ', false, Json::error_handler_t::replace);
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

void AppendHeader(const FileOwner& owner,
                  const std::vector<SavedTensor>& tensors, uint64_t data_start,
                  std::string* bytes) {
  const uint64_t room = data_start - sizeof(uint64_t);
  const size_t begin = bytes->size();
  bytes->append(reinterpret_cast<const char*>(&room), sizeof(room));
  absl::StrAppend(bytes, "{\"__metadata__\":", MetadataOf(owner, tensors));
  // The metadata's last byte is a brace.
  const size_t end_of_metadata = bytes->size() - 1;
  std::string complex;
  Keys keys;
  for (const SavedTensor& tensor : tensors) {
    const std::string key = keys.Next(tensor);
    AppendEntry(key, *tensor.record, bytes);
    if (DTypeFromNumber(tensor.record->dtype) == DType::kComplex128) {
      complex.push_back(',');
      AppendQuoted(absl::StrCat(kComplexPrefix, key), &complex);
      absl::StrAppend(&complex, ":\"1\"");
    }
  }
  bytes->insert(end_of_metadata, complex);
  bytes->push_back('}');
  bytes->resize(begin + data_start, ' ');
}

}  // namespace graphdbg::recording
