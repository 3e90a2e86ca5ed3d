#include "server/tensor/numbers.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "server/base/error.h"

namespace graphdbg::tensor {
namespace {

template <class T>
std::string Bytes(std::initializer_list<T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

absl::StatusOr<Numbers> Of(const char* dtype, std::string_view bytes) {
  return Numbers::Of(model::ParseTensorType(dtype, {}), bytes);
}

std::vector<double> All(const char* dtype, const std::string& bytes) {
  absl::StatusOr<Numbers> numbers = Of(dtype, bytes);
  if (!numbers.ok()) return {};
  std::vector<double> all;
  ForEachChunk(*numbers, [&](std::span<const double> chunk) {
    all.insert(all.end(), chunk.begin(), chunk.end());
  });
  return all;
}

TEST(NumbersTest, EachTypeReadsAsItsValues) {
  using V = std::vector<double>;
  EXPECT_EQ(All("bool", std::string("\0\1\2", 3)), (V{0, 1, 1}));
  EXPECT_EQ(All("int8", "\xff\x01"), (V{-1, 1}));
  EXPECT_EQ(All("uint8", "\xff\x01"), (V{255, 1}));
  EXPECT_EQ(All("int64", Bytes<int64_t>({-3, 1ll << 40})), (V{-3, 0x1p40}));
  EXPECT_EQ(All("uint64", Bytes<uint64_t>({~0ull})), (V{0x1p64}));
  EXPECT_EQ(All("float16", Bytes<uint16_t>({0x3c00, 0x0001, 0xfc00})),
            (V{1, 0x1p-24, -INFINITY}));
  EXPECT_EQ(All("bfloat16", Bytes<uint16_t>({0x4040})), (V{3}));
  EXPECT_EQ(All("float8_e4m3fn", "\x7e\x38"), (V{448, 1}));
  EXPECT_EQ(All("float8_e5m2", "\x7b\x3c"), (V{57344, 1}));
  EXPECT_EQ(All("float64", Bytes<double>({-0.5})), (V{-0.5}));
  EXPECT_EQ(All("complex64", Bytes<float>({1, 2, 3, 4})), (V{1, 2, 3, 4}));
}

TEST(NumbersTest, MoreThanAChunkComesInOrder) {
  std::vector<int32_t> values(10'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
  std::string bytes(values.size() * 4, '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  EXPECT_EQ(All("int32", bytes),
            std::vector<double>(values.begin(), values.end()));
}

TEST(NumbersTest, OtherTypesAndBrokenElementsAreErrors) {
  EXPECT_EQ(ReasonOf(Of("other", "ab").status()), "unreadable_dtype");
  EXPECT_EQ(ReasonOf(Of("int32", "abc").status()), "bad_tensor");
  EXPECT_EQ(ReasonOf(Of("complex64", "abcd").status()), "bad_tensor");
  EXPECT_EQ(Of("int32", "")->size(), 0u);
}

}  // namespace
}  // namespace graphdbg::tensor
