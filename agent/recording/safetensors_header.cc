#include "agent/recording/safetensors_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
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
// `,"":{"dtype":"F8_E4M3","shape":[],"data_offsets":[,]}` without what is
// counted.
constexpr uint64_t kFixedEntryBytes = 53;
// `:12345#12345~4096` behind the name: a slot, a pass and an execution.
constexpr uint64_t kKeyEndBytes = 17;
// `,"complex128.":"1"`, and the last dimension `,2`.
constexpr uint64_t kFixedComplexBytes = 20;

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

constexpr int kMostDigits = 20;

uint64_t DigitsOf(uint64_t number) {
  uint64_t digits = 1;
  for (; number >= 10'000; number /= 10'000) digits += 4;
  return digits + (number >= 10) + (number >= 100) + (number >= 1'000);
}

uint64_t EndOf(const runs::TensorFields& tensor) {
  return tensor.offset + tensor.bytes;
}

// --- The disk waits for the text, which has thousands of entries: it is made
// without a temporary object for each.

void AppendNumber(uint64_t number, std::string* to) {
  std::array<char, kMostDigits> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  to->append(digits.data(), static_cast<size_t>(end - digits.data()));
}

// Keys of tensors, distinct even if a node executed several times in a pass.
class Keys {
 public:
  explicit Keys(size_t count) { executions_.reserve(count); }

  // Valid until the next call.
  const std::string& Next(const SavedTensor& tensor) {
    const uint16_t pass = std::max<uint16_t>(tensor.record->pass, 1);
    key_.assign(tensor.node_name.data(), tensor.node_name.size());
    key_ += ':';
    AppendNumber(tensor.record->slot, &key_);
    if (pass > 1) AppendNumber(pass, &(key_ += '#'));
    const uint64_t execution =
        ++executions_[{tensor.node_name, tensor.record->slot, pass}];
    if (execution > 1) AppendNumber(execution, &(key_ += '~'));
    return key_;
  }

 private:
  std::string key_;
  absl::flat_hash_map<std::tuple<absl::string_view, uint16_t, uint16_t>,
                      uint64_t>
      executions_;
};

// Most names need no escapes, and are appended as they are.
void AppendQuoted(const std::string& text, std::string* json) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
  });
  if (plain) {
    ((*json += '"') += text) += '"';
  } else {
    *json += Json(text).dump();
  }
}

void AppendShape(const runs::Record& record, std::string* json) {
  const runs::TensorFields& tensor = record.tensor;
  for (uint8_t i = 0; i < tensor.ndim; ++i) {
    if (i > 0) *json += ',';
    AppendNumber(static_cast<uint64_t>(tensor.shape[i]), json);
  }
  if (DTypeFromNumber(record.dtype) != DType::kComplex128) return;
  *json += tensor.ndim > 0 ? ",2" : "2";
}

void AppendEntry(const std::string& key, const runs::Record& record,
                 std::string* json) {
  *json += ',';
  AppendQuoted(key, json);
  *json += ":{\"dtype\":\"";
  *json += NameOf(DTypeFromNumber(record.dtype));
  *json += "\",\"shape\":[";
  AppendShape(record, json);
  *json += "],\"data_offsets\":[";
  AppendNumber(record.tensor.offset, json);
  *json += ',';
  AppendNumber(EndOf(record.tensor), json);
  *json += "]}";
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
  const runs::TensorFields& fields = tensor.record->tensor;
  const uint64_t key = QuotedBytes(tensor.node_name) + kKeyEndBytes;
  uint64_t bytes = key + kFixedEntryBytes + DigitsOf(fields.offset) +
                   DigitsOf(EndOf(fields));
  for (uint8_t i = 0; i < fields.ndim; ++i) {
    bytes += DigitsOf(static_cast<uint64_t>(fields.shape[i])) + 1;
  }
  if (DTypeFromNumber(tensor.record->dtype) == DType::kComplex128) {
    bytes += key + kFixedComplexBytes;
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
  Keys keys(tensors.size());
  for (const SavedTensor& tensor : tensors) {
    const std::string& key = keys.Next(tensor);
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
