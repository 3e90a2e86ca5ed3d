#include "server/api/tensor_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "server/base/error.h"
#include "server/tensor/shape.h"

namespace graphdbg::api {
namespace {

template <class T>
std::string Bytes(std::initializer_list<T> values) {
  std::string bytes;
  for (T value : values) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

absl::StatusOr<std::string> Text(std::string_view dtype,
                                 const std::vector<int64_t>& shape,
                                 std::string_view data) {
  return NestedLists(model::ParseTensorType(dtype, {}), shape, data);
}

template <class T>
std::string List(const char* dtype, std::initializer_list<T> values) {
  auto text =
      Text(dtype, {static_cast<int64_t>(values.size())}, Bytes<T>(values));
  return text.ok() ? *text : text.status().ToString();
}

TEST(TensorTextTest, IntegersKeepTheirWholeRange) {
  EXPECT_EQ(List<int8_t>("int8", {-128, 127}), "[-128,127]");
  EXPECT_EQ(List<uint8_t>("uint8", {0, 255}), "[0,255]");
  EXPECT_EQ(List<int16_t>("int16", {-32768}), "[-32768]");
  EXPECT_EQ(List<uint16_t>("uint16", {65535}), "[65535]");
  EXPECT_EQ(List<int32_t>("int32", {INT32_MIN}), "[-2147483648]");
  EXPECT_EQ(List<uint32_t>("uint32", {UINT32_MAX}), "[4294967295]");
  EXPECT_EQ(List<int64_t>("int64", {INT64_MIN, INT64_MAX}),
            "[-9223372036854775808,9223372036854775807]");
  EXPECT_EQ(List<uint64_t>("uint64", {UINT64_MAX}), "[18446744073709551615]");
}

TEST(TensorTextTest, BoolsAreWords) {
  EXPECT_EQ(List<uint8_t>("bool", {0, 1}), "[false,true]");
}

TEST(TensorTextTest, FloatsAreTheShortestThatReadBackTheSame) {
  EXPECT_EQ(List<float>("float32", {0.1f, 1.0f, -0.0f, 1e30f}),
            "[0.1,1.0,-0.0,1e+30]");
  EXPECT_EQ(List<double>("float64", {0.1, 1e-300, 3}), "[0.1,1e-300,3.0]");
  float least = std::numeric_limits<float>::denorm_min();
  std::string text = List<float>("float32", {least});
  EXPECT_EQ(std::strtof(text.c_str() + 1, nullptr), least);
}

TEST(TensorTextTest, EightBitFloatsAreNumbers) {
  // The smallest value, one, the largest, NaN, and a negative number.
  EXPECT_EQ(List<uint8_t>("float8_e4m3fn", {0x01, 0x38, 0x7e, 0x7f, 0xc4}),
            R"([0.001953125,1.0,448.0,"NaN",-3.0])");
  EXPECT_EQ(List<uint8_t>("float8_e5m2", {0x01, 0x3c, 0x7b, 0x7c, 0xfe}),
            R"([1.5258789e-05,1.0,57344.0,"Infinity","NaN"])");
}

TEST(TensorTextTest, WhatJsonCannotCarryAreStrings) {
  EXPECT_EQ(List<float>("float32", {NAN, -NAN, INFINITY, -INFINITY}),
            R"(["NaN","NaN","Infinity","-Infinity"])");
  EXPECT_EQ(List<double>("float64", {NAN, INFINITY}), R"(["NaN","Infinity"])");
}

TEST(TensorTextTest, HalfPrecisionIsDecodedExactly) {
  // 1, -2, the largest, the smallest normal and the smallest value, -0.
  EXPECT_EQ(List<uint16_t>("float16",
                           {0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x8000}),
            "[1.0,-2.0,65504.0,6.1035156e-05,5.9604645e-08,-0.0]");
  EXPECT_EQ(List<uint16_t>("float16", {0x7c00, 0xfc00, 0x7e00, 0x7c01}),
            R"(["Infinity","-Infinity","NaN","NaN"])");
}

TEST(TensorTextTest, Bfloat16IsTheUpperHalfOfAFloat) {
  EXPECT_EQ(List<uint16_t>("bfloat16", {0x3f80, 0xc000, 0x7f7f}),
            "[1.0,-2.0,3.3895314e+38]");
  EXPECT_EQ(List<uint16_t>("bfloat16", {0x7f80, 0xff80, 0x7fc0}),
            R"(["Infinity","-Infinity","NaN"])");
}

TEST(TensorTextTest, ComplexNumbersArePairs) {
  EXPECT_EQ(*Text("complex64", {2}, Bytes<float>({1, -0.5, NAN, 2})),
            R"([[1.0,-0.5],["NaN",2.0]])");
  EXPECT_EQ(*Text("complex128", {}, Bytes<double>({1, 2})), "[1.0,2.0]");
}

TEST(TensorTextTest, ListsNestAsTheShapeSays) {
  std::string data = Bytes<int32_t>({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(*Text("int32", {2, 3}, data), "[[1,2,3],[4,5,6]]");
  EXPECT_EQ(*Text("int32", {3, 1, 2}, data), "[[[1,2]],[[3,4]],[[5,6]]]");
  EXPECT_EQ(*Text("int32", {}, Bytes<int32_t>({7})), "7");
  EXPECT_EQ(*Text("int32", {0}, ""), "[]");
  EXPECT_EQ(*Text("int32", {2, 0, 5}, ""), "[[],[]]");
}

TEST(TensorTextTest, BytesThatDoNotFitTheShapeAreRefused) {
  std::string data = Bytes<int32_t>({1, 2, 3});
  const std::vector<std::vector<int64_t>> shapes = {
      {2}, {4}, {-3}, {}, {0}, {INT64_MAX, INT64_MAX}, {1, INT64_MAX, 4}};
  for (const auto& shape : shapes) {
    EXPECT_EQ(ReasonOf(Text("int32", shape, data).status()), "bad_tensor");
  }
}

TEST(TensorTextTest, EmptyTensorsOfHugeShapesDoNotFillTheMemory) {
  EXPECT_EQ(ReasonOf(Text("int32", {1 << 30, 1 << 30, 0}, "").status()),
            "bad_tensor");
  EXPECT_EQ(ReasonOf(Text("int32", std::vector<int64_t>(100'000, 1),
                          Bytes<int32_t>({1}))
                         .status()),
            "bad_tensor");
}

TEST(TensorTextTest, TypesWithoutReadableValuesAreRefused) {
  absl::Status status = Text("qint8", {1}, "x").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(ReasonOf(status), "unreadable_dtype");
}

TEST(ElementCountTest, CountsOrGivesUp) {
  EXPECT_EQ(tensor::ElementCount({}), 1u);
  EXPECT_EQ(tensor::ElementCount({2, 3}), 6u);
  EXPECT_EQ(tensor::ElementCount({INT64_MAX, 3}), std::nullopt);
  EXPECT_EQ(tensor::ElementCount({-1}), std::nullopt);
}

}  // namespace
}  // namespace graphdbg::api
