#include "server/api/tensor_text.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "server/base/error.h"
#include "server/tensor/shape.h"
#include "server/tensor/short_floats.h"

namespace graphdbg::api {
namespace {

static_assert(std::endian::native == std::endian::little,
              "elements are read in the byte order of the wire");

// Appends one element to the text.
using Writer = void (*)(const char* element, std::string& out);

template <class T>
T Load(const char* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

template <class T>
void AppendInteger(const char* element, std::string& out) {
  std::array<char, 24> text;
  auto end = std::to_chars(text.begin(), text.end(), Load<T>(element)).ptr;
  out.append(text.data(), end);
}

void AppendBool(const char* element, std::string& out) {
  out += *element != 0 ? "true" : "false";
}

template <class T>
void AppendValue(T value, std::string& out) {
  if (std::isnan(value)) {
    out += "\"NaN\"";
  } else if (std::isinf(value)) {
    out += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else {
    std::array<char, 32> text;
    auto end = std::to_chars(text.begin(), text.end(), value).ptr;
    std::string_view number(text.data(), end - text.data());
    out += number;
    // Keeps parsers that distinguish integers from floats from reading an
    // integer.
    if (number.find_first_of(".e") == std::string_view::npos) out += ".0";
  }
}

template <class T>
void AppendFloat(const char* element, std::string& out) {
  AppendValue(Load<T>(element), out);
}

template <class Bits, auto value_of>
void AppendShort(const char* element, std::string& out) {
  AppendValue(value_of(Load<Bits>(element)), out);
}

template <class T>
void AppendComplex(const char* element, std::string& out) {
  out += '[';
  AppendFloat<T>(element, out);
  out += ',';
  AppendFloat<T>(element + sizeof(T), out);
  out += ']';
}

struct TypeRow {
  DType dtype;
  Writer write;
};

constexpr TypeRow kTypes[] = {
    {DType::kBool, AppendBool},
    {DType::kInt8, AppendInteger<int8_t>},
    {DType::kInt16, AppendInteger<int16_t>},
    {DType::kInt32, AppendInteger<int32_t>},
    {DType::kInt64, AppendInteger<int64_t>},
    {DType::kUint8, AppendInteger<uint8_t>},
    {DType::kUint16, AppendInteger<uint16_t>},
    {DType::kUint32, AppendInteger<uint32_t>},
    {DType::kUint64, AppendInteger<uint64_t>},
    {DType::kFloat16, AppendShort<uint16_t, tensor::Float16Value>},
    {DType::kBfloat16, AppendShort<uint16_t, tensor::Bfloat16Value>},
    {DType::kFloat8E4m3fn, AppendShort<uint8_t, tensor::Float8E4m3fnValue>},
    {DType::kFloat8E5m2, AppendShort<uint8_t, tensor::Float8E5m2Value>},
    {DType::kFloat32, AppendFloat<float>},
    {DType::kFloat64, AppendFloat<double>},
    {DType::kComplex64, AppendComplex<float>},
    {DType::kComplex128, AppendComplex<double>},
};

// Null for a type whose values cannot be read.
Writer WriterOf(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return row.write;
  }
  return nullptr;
}

class ListWriter {
 public:
  ListWriter(Writer write, uint64_t item_bytes,
             const std::vector<int64_t>& shape, const char* data)
      : write_(write), item_bytes_(item_bytes), shape_(shape), next_(data) {}

  std::string Write() {
    WriteDimension(0);
    return std::move(out_);
  }

 private:
  void WriteDimension(size_t dimension) {
    if (dimension == shape_.size()) {
      write_(next_, out_);
      next_ += item_bytes_;
      return;
    }
    out_ += '[';
    for (int64_t i = 0; i < shape_[dimension]; ++i) {
      if (i > 0) out_ += ',';
      WriteDimension(dimension + 1);
    }
    out_ += ']';
  }

  const Writer write_;
  const uint64_t item_bytes_;
  const std::vector<int64_t>& shape_;
  const char* next_;
  std::string out_;
};

// A tensor of shape [100000, 100000, 0] is empty, but its nested lists would
// consist of billions of brackets.
constexpr uint64_t kMaxBrackets = 1'000'000;
constexpr size_t kMaxDimensions = 64;

bool PrintsShortly(const std::vector<int64_t>& shape) {
  if (shape.size() > kMaxDimensions) return false;
  uint64_t brackets = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) {
    if (shape[i] == 0) return true;
    if (brackets > kMaxBrackets / static_cast<uint64_t>(shape[i])) return false;
    brackets *= static_cast<uint64_t>(shape[i]);
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> NestedLists(const model::TensorType& type,
                                        const std::vector<int64_t>& shape,
                                        std::string_view data) {
  const Writer write = WriterOf(type.dtype);
  if (write == nullptr) {
    return Error(absl::StatusCode::kUnimplemented, "unreadable_dtype",
                 "values of dtype '" + model::DTypeName(type) +
                     "' cannot be decoded; request application/octet-stream "
                     "to get the raw bytes");
  }
  if (tensor::DenseBytes(type.dtype, shape) != data.size() ||
      !PrintsShortly(shape)) {
    return Error(absl::StatusCode::kInternal, "bad_tensor",
                 "the job sent " + std::to_string(data.size()) +
                     " bytes, which do not match the shape of the slice");
  }
  return ListWriter(write, ItemSize(type.dtype), shape, data.data()).Write();
}

}  // namespace graphdbg::api
