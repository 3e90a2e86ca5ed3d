#include "server/runs/mindspore/dump_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/tensor/shape.h"

namespace graphdbg::dumps {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// The message is not decoded by generated code, which would copy the values and
// not know where they are in the file. Numbers of its fields:
constexpr int kOutput = 3;
constexpr int kInput = 4;
constexpr int kOpName = 6;
// Fields of outputs and inputs; some numbers differ.
constexpr int kDataType = 1;
constexpr int kShape = 3;
constexpr int kOutputData = 5;
constexpr int kOutputSize = 6;
constexpr int kInputData = 4;
constexpr int kInputSize = 5;
// The field of shapes.
constexpr int kDim = 1;

constexpr size_t kMaxTensors = 20'000;
constexpr size_t kMaxDimensions = 64;

// By the message's numbers of types.
constexpr std::array<DType, 28> kTypes = {
    DType::kOther,     DType::kFloat32,    DType::kFloat16, DType::kInt8,
    DType::kUint8,     DType::kInt16,      DType::kUint16,  DType::kInt32,
    DType::kInt64,     DType::kUint32,     DType::kUint64,  DType::kBool,
    DType::kFloat64,   DType::kOther,      DType::kOther,   DType::kOther,
    DType::kComplex64, DType::kComplex128, DType::kOther,   DType::kOther,
    DType::kOther,     DType::kOther,      DType::kOther,   DType::kOther,
    DType::kOther,     DType::kOther,      DType::kOther,   DType::kBfloat16};

absl::Status Bad(const char* what) {
  return absl::DataLossError(absl::StrCat("message of a dump: ", what));
}

bool IsBytes(uint32_t tag) {
  return WireFormatLite::GetTagWireType(tag) ==
         WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes)
      : bytes_(bytes),
        in_(reinterpret_cast<const uint8_t*>(bytes.data()),
            static_cast<int>(bytes.size())) {}

  // The tag of the next field; 0 at the end.
  uint32_t Tag() { return in_.ReadTag(); }
  bool AtEnd() { return in_.ConsumedEntireMessage(); }
  std::optional<uint64_t> Number() {
    uint64_t number = 0;
    return in_.ReadVarint64(&number) ? std::optional(number) : std::nullopt;
  }
  // The content of a field, and where it is.
  std::optional<std::pair<std::string_view, uint64_t>> Bytes() {
    uint32_t size = 0;
    if (!in_.ReadVarint32(&size)) return std::nullopt;
    const auto at = static_cast<size_t>(in_.CurrentPosition());
    if (size > bytes_.size() - at || !in_.Skip(static_cast<int>(size))) {
      return std::nullopt;
    }
    return std::pair(bytes_.substr(at, size), uint64_t{at});
  }
  bool Skip(uint32_t tag) { return WireFormatLite::SkipField(&in_, tag); }

 private:
  const std::string_view bytes_;
  CodedInputStream in_;
};

bool ReadShape(std::string_view bytes, std::vector<int64_t>& shape) {
  const auto add = [&](std::optional<uint64_t> size) {
    if (!size || *size > INT64_MAX || shape.size() >= kMaxDimensions) {
      return false;
    }
    shape.push_back(static_cast<int64_t>(*size));
    return true;
  };
  Reader reader(bytes);
  while (const uint32_t tag = reader.Tag()) {
    if (WireFormatLite::GetTagFieldNumber(tag) != kDim) {
      if (!reader.Skip(tag)) return false;
    } else if (!IsBytes(tag)) {
      if (!add(reader.Number())) return false;
    } else {
      const auto packed = reader.Bytes();
      if (!packed) return false;
      CodedInputStream in(
          reinterpret_cast<const uint8_t*>(packed->first.data()),
          static_cast<int>(packed->first.size()));
      while (in.CurrentPosition() < static_cast<int>(packed->first.size())) {
        uint64_t size = 0;
        if (!in.ReadVarint64(&size) || !add(size)) return false;
      }
    }
  }
  return reader.AtEnd();
}

// An input or output; its offset is absent if its values are not in the
// message.
struct Part {
  MessageTensor tensor;
  std::optional<uint64_t> offset;
};

absl::StatusOr<Part> ReadPart(std::string_view bytes, uint64_t offset,
                              bool is_output) {
  Part part;
  part.tensor.is_output = is_output;
  model::TensorType& type = part.tensor.tensor.type;
  uint64_t number = 0;
  Reader reader(bytes);
  while (const uint32_t tag = reader.Tag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    bool good = true;
    if (field == kDataType && !IsBytes(tag)) {
      const auto value = reader.Number();
      good = value.has_value();
      number = value.value_or(0);
    } else if (field == kShape && IsBytes(tag)) {
      const auto shape = reader.Bytes();
      type.shape.clear();
      good = shape && ReadShape(shape->first, type.shape);
    } else if (field == (is_output ? kOutputSize : kInputSize) &&
               !IsBytes(tag)) {
      const auto size = reader.Number();
      good = size.has_value();
      if (!part.offset) part.tensor.tensor.bytes = size.value_or(0);
    } else if (field == (is_output ? kOutputData : kInputData) &&
               IsBytes(tag)) {
      const auto data = reader.Bytes();
      good = data.has_value();
      if (good && !data->first.empty()) {
        part.offset = offset + data->second;
        part.tensor.tensor.bytes = data->first.size();
      }
    } else {
      good = reader.Skip(tag);
    }
    if (!good) return Bad("a tensor cannot be decoded");
  }
  if (!reader.AtEnd()) return Bad("a tensor cannot be decoded");
  type.dtype = number < kTypes.size() ? kTypes[number] : DType::kOther;
  if (type.dtype == DType::kOther) {
    type.framework_dtype = absl::StrCat("DT_", number);
  }
  return part;
}

// Types that are not read may have any size. Devices pad what they write.
absl::Status CheckSize(recorded::StoredTensor& tensor) {
  if (tensor.type.dtype == DType::kOther) return absl::OkStatus();
  const auto expected =
      tensor::DenseBytes(tensor.type.dtype, tensor.type.shape);
  if (!expected || *expected > tensor.bytes) {
    return Bad("a tensor has fewer bytes than its type and shape need");
  }
  tensor.bytes = *expected;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DumpMessage> ParseDumpMessage(std::string_view bytes,
                                             uint64_t offset,
                                             uint64_t data_offset,
                                             uint64_t file_bytes) {
  DumpMessage message;
  std::vector<Part> inputs;
  std::vector<Part> outputs;
  Reader reader(bytes);
  while (const uint32_t tag = reader.Tag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    const bool wanted = field == kOutput || field == kInput || field == kOpName;
    if (!wanted || !IsBytes(tag)) {
      if (!reader.Skip(tag)) return Bad("it cannot be decoded");
      continue;
    }
    const auto content = reader.Bytes();
    if (!content) return Bad("it cannot be decoded");
    if (field == kOpName) {
      message.op_name = content->first;
      continue;
    }
    if (inputs.size() + outputs.size() >= kMaxTensors) {
      return Bad("more than 20,000 tensors");
    }
    ASSIGN_OR_RETURN(
        Part part,
        ReadPart(content->first, offset + content->second, field == kOutput));
    std::vector<Part>& to = field == kOutput ? outputs : inputs;
    part.tensor.slot = static_cast<uint32_t>(to.size());
    to.push_back(std::move(part));
  }
  if (!reader.AtEnd()) return Bad("it cannot be decoded");
  for (std::vector<Part>* parts : {&inputs, &outputs}) {
    for (Part& part : *parts) {
      recorded::StoredTensor& tensor = part.tensor.tensor;
      tensor.offset = part.offset.value_or(data_offset);
      if (tensor.offset > file_bytes ||
          tensor.bytes > file_bytes - tensor.offset) {
        return Bad("the file ends within the values of a tensor");
      }
      if (!part.offset) data_offset += tensor.bytes;
      RETURN_IF_ERROR(CheckSize(tensor));
      message.tensors.push_back(std::move(part.tensor));
    }
  }
  return message;
}

absl::StatusOr<DumpMessage> ReadDumpMessage(const recorded::File& file) {
  const uint64_t file_bytes = file.size();
  uint64_t size = 0;
  std::array<char, sizeof size> begin = {};
  ASSIGN_OR_RETURN(const size_t count, file.ReadAt(0, begin));
  std::memcpy(&size, begin.data(), sizeof size);
  if (count == sizeof size && size <= kMaxMessageBytes &&
      size <= file_bytes - sizeof size) {
    std::string bytes(size, '\0');
    RETURN_IF_ERROR(file.ReadExactly(sizeof size, bytes));
    auto message =
        ParseDumpMessage(bytes, sizeof size, sizeof size + size, file_bytes);
    if (message.ok()) return message;
  }
  if (file_bytes > kMaxInlineBytes) {
    return Bad("it does not begin with its size");
  }
  std::string bytes(file_bytes, '\0');
  RETURN_IF_ERROR(file.ReadExactly(0, bytes));
  return ParseDumpMessage(bytes, 0, file_bytes, file_bytes);
}

}  // namespace graphdbg::dumps
