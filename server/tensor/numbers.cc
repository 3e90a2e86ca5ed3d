#include "server/tensor/numbers.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/tensor/short_floats.h"

namespace graphdbg::tensor {
namespace {

constexpr uint64_t kChunk = 4'096;

template <class T>
void ConvertPlain(const char* from, std::span<double> out) {
  for (double& number : out) {
    T value;
    std::memcpy(&value, from, sizeof value);
    number = static_cast<double>(value);
    from += sizeof value;
  }
}

// Types that C++ lacks, or that have invalid bit patterns.
template <class Bits, auto value_of>
void ConvertBits(const char* from, std::span<double> out) {
  for (double& number : out) {
    Bits bits;
    std::memcpy(&bits, from, sizeof bits);
    number = value_of(bits);
    from += sizeof bits;
  }
}

// Floats are a sign and a magnitude, and magnitudes are in the order of their
// bits.
template <class Bits>
void ReadOrder(const char* from, std::span<int64_t> out) {
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  for (int64_t& ordinal : out) {
    Bits bits;
    std::memcpy(&bits, from, sizeof bits);
    const auto magnitude = static_cast<int64_t>(bits & ~kSign);
    ordinal = (bits & kSign) != 0 ? -magnitude : magnitude;
    from += sizeof bits;
  }
}

float BoolValue(uint8_t bits) { return bits != 0 ? 1 : 0; }

struct Row {
  DType dtype;
  uint64_t item_bytes;
  uint64_t parts;
  void (*convert)(const char* from, std::span<double> out);
  void (*order)(const char* from, std::span<int64_t> out) = nullptr;
};

constexpr std::array kRows = {
    Row{DType::kBool, 1, 1, ConvertBits<uint8_t, BoolValue>},
    Row{DType::kInt8, 1, 1, ConvertPlain<int8_t>},
    Row{DType::kInt16, 2, 1, ConvertPlain<int16_t>},
    Row{DType::kInt32, 4, 1, ConvertPlain<int32_t>},
    Row{DType::kInt64, 8, 1, ConvertPlain<int64_t>},
    Row{DType::kUint8, 1, 1, ConvertPlain<uint8_t>},
    Row{DType::kUint16, 2, 1, ConvertPlain<uint16_t>},
    Row{DType::kUint32, 4, 1, ConvertPlain<uint32_t>},
    Row{DType::kUint64, 8, 1, ConvertPlain<uint64_t>},
    Row{DType::kFloat8E4m3fn, 1, 1, ConvertBits<uint8_t, Float8E4m3fnValue>,
        ReadOrder<uint8_t>},
    Row{DType::kFloat8E5m2, 1, 1, ConvertBits<uint8_t, Float8E5m2Value>,
        ReadOrder<uint8_t>},
    Row{DType::kFloat16, 2, 1, ConvertBits<uint16_t, Float16Value>,
        ReadOrder<uint16_t>},
    Row{DType::kBfloat16, 2, 1, ConvertBits<uint16_t, Bfloat16Value>,
        ReadOrder<uint16_t>},
    Row{DType::kFloat32, 4, 1, ConvertPlain<float>, ReadOrder<uint32_t>},
    Row{DType::kFloat64, 8, 1, ConvertPlain<double>, ReadOrder<uint64_t>},
    Row{DType::kComplex64, 4, 2, ConvertPlain<float>, ReadOrder<uint32_t>},
    Row{DType::kComplex128, 8, 2, ConvertPlain<double>, ReadOrder<uint64_t>},
};

}  // namespace

absl::StatusOr<Numbers> Numbers::Of(const model::TensorType& type,
                                    std::string_view data) {
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) {
    return r.dtype == type.dtype;
  });
  if (row == kRows.end()) {
    return Error(absl::StatusCode::kUnimplemented, "unreadable_dtype",
                 absl::StrCat("values of type '", model::DTypeName(type),
                              "' cannot be read as numbers"));
  }
  if (data.size() % (row->item_bytes * row->parts) != 0) {
    return Error(absl::StatusCode::kInternal, "bad_tensor",
                 absl::StrCat("the job sent ", data.size(),
                              " bytes, which is not a whole number of elements "
                              "of type ",
                              model::DTypeName(type)));
  }
  return Numbers(data, row->dtype, row->item_bytes, row->parts, row->convert,
                 row->order);
}

void Numbers::Read(uint64_t first, std::span<double> out) const {
  convert_(data_.data() + first * item_bytes_, out);
}

void Numbers::ReadOrdinals(uint64_t first, std::span<int64_t> out) const {
  order_(data_.data() + first * item_bytes_, out);
}

void ForEachChunk(const Numbers& numbers,
                  const std::function<void(std::span<const double>)>& chunk) {
  std::array<double, kChunk> buffer;
  for (uint64_t first = 0; first < numbers.size(); first += kChunk) {
    const std::span<double> part(buffer.data(),
                                 std::min(kChunk, numbers.size() - first));
    numbers.Read(first, part);
    chunk(part);
  }
}

}  // namespace graphdbg::tensor
