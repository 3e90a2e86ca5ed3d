#include "server/api/tensor_text.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "server/base/error.h"
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
  std::string_view dtype;
  uint64_t bytes;
  Writer write;
};

constexpr TypeRow kTypes[] = {
    {"bool", 1, AppendBool},
    {"int8", 1, AppendInteger<int8_t>},
    {"int16", 2, AppendInteger<int16_t>},
    {"int32", 4, AppendInteger<int32_t>},
    {"int64", 8, AppendInteger<int64_t>},
    {"uint8", 1, AppendInteger<uint8_t>},
    {"uint16", 2, AppendInteger<uint16_t>},
    {"uint32", 4, AppendInteger<uint32_t>},
    {"uint64", 8, AppendInteger<uint64_t>},
    {"float16", 2, AppendShort<uint16_t, tensor::Float16Value>},
    {"bfloat16", 2, AppendShort<uint16_t, tensor::Bfloat16Value>},
    {"float8_e4m3fn", 1, AppendShort<uint8_t, tensor::Float8E4m3fnValue>},
    {"float8_e5m2", 1, AppendShort<uint8_t, tensor::Float8E5m2Value>},
    {"float32", 4, AppendFloat<float>},
    {"float64", 8, AppendFloat<double>},
    {"complex64", 8, AppendComplex<float>},
    {"complex128", 16, AppendComplex<double>},
};

const TypeRow* FindType(std::string_view dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

class ListWriter {
 public:
  ListWriter(const TypeRow& type, const std::vector<int64_t>& shape,
             const char* data)
      : type_(type), shape_(shape), next_(data) {}

  std::string Write() {
    WriteDimension(0);
    return std::move(out_);
  }

 private:
  void WriteDimension(size_t dimension) {
    if (dimension == shape_.size()) {
      type_.write(next_, out_);
      next_ += type_.bytes;
      return;
    }
    out_ += '[';
    for (int64_t i = 0; i < shape_[dimension]; ++i) {
      if (i > 0) out_ += ',';
      WriteDimension(dimension + 1);
    }
    out_ += ']';
  }

  const TypeRow& type_;
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

std::optional<uint64_t> ItemBytes(std::string_view dtype) {
  const TypeRow* type = FindType(dtype);
  if (type == nullptr) return std::nullopt;
  return type->bytes;
}

std::optional<uint64_t> ElementCount(const std::vector<int64_t>& shape) {
  uint64_t count = 1;
  for (int64_t size : shape) {
    if (size < 0) return std::nullopt;
    uint64_t product = 0;
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(size), &product)) {
      return std::nullopt;
    }
    count = product;
  }
  return count;
}

absl::StatusOr<std::string> NestedLists(std::string_view dtype,
                                        const std::vector<int64_t>& shape,
                                        std::string_view data) {
  const TypeRow* type = FindType(dtype);
  if (type == nullptr) {
    return Error(absl::StatusCode::kUnimplemented, "unreadable_dtype",
                 "values of dtype '" + std::string(dtype) +
                     "' cannot be decoded; request application/octet-stream "
                     "to get the raw bytes");
  }
  auto count = ElementCount(shape);
  if (!count || *count > data.size() || *count * type->bytes != data.size() ||
      !PrintsShortly(shape)) {
    return Error(absl::StatusCode::kInternal, "bad_tensor",
                 "the job sent " + std::to_string(data.size()) +
                     " bytes, which do not match the shape of the slice");
  }
  return ListWriter(*type, shape, data.data()).Write();
}

}  // namespace graphdbg::api
