#include "server/tensor/tensor_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "server/base/error.h"

namespace graphdbg::tensor {
namespace {

FileTensor Tensor(const std::string& dtype, std::vector<int64_t> shape = {2}) {
  return {"forward/fc:0",
          model::ParseTensorType(dtype, std::move(shape)),
          24,
          {{"step", "7"}}};
}

// The text of an npy header. NumPy parses it as a Python literal.
std::string NpyText(const std::string& dtype, std::vector<int64_t> shape) {
  auto head = FileHeader(FileFormat::kNpy, Tensor(dtype, std::move(shape)));
  EXPECT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(head->size() % 64, 0u);
  EXPECT_EQ(head->substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const size_t size = static_cast<unsigned char>((*head)[8]) +
                      256 * static_cast<unsigned char>((*head)[9]);
  EXPECT_EQ(head->size(), 10 + size);
  EXPECT_EQ(head->back(), '\n');
  return head->substr(10, head->find_last_not_of(" \n") - 9);
}

TEST(TensorFileTest, NpyHoldsTypeAndShape) {
  EXPECT_EQ(NpyText("float32", {2, 3}),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  EXPECT_EQ(NpyText("bool", {5}),
            "{'descr': '|b1', 'fortran_order': False, 'shape': (5,), }");
  EXPECT_EQ(NpyText("complex128", {}),
            "{'descr': '<c16', 'fortran_order': False, 'shape': (), }");
  // Needs a length of two bytes.
  EXPECT_GT(NpyText("int64", std::vector<int64_t>(64, 1'000'000)).size(), 256u);
}

TEST(TensorFileTest, SafetensorsHoldsNameTypeShapeAndMore) {
  auto head = FileHeader(FileFormat::kSafetensors, Tensor("bfloat16", {3, 4}));
  ASSERT_TRUE(head.ok()) << head.status();
  uint64_t size = 0;
  std::memcpy(&size, head->data(), 8);
  EXPECT_EQ(size % 8, 0u);
  ASSERT_EQ(head->size(), 8 + size);
  EXPECT_EQ(nlohmann::json::parse(head->substr(8)), nlohmann::json::parse(R"({
      "__metadata__": {"step": "7"},
      "forward/fc:0": {"dtype": "BF16", "shape": [3, 4],
                       "data_offsets": [0, 24]}})"));
}

TEST(TensorFileTest, ATypeThatAFormatLacksNamesTheOther) {
  for (const char* dtype : {"bfloat16", "float8_e4m3fn", "float8_e5m2"}) {
    const absl::Status refused =
        FileHeader(FileFormat::kNpy, Tensor(dtype)).status();
    EXPECT_EQ(ReasonOf(refused), "no_such_dtype") << dtype;
    EXPECT_EQ(FieldOf(refused), "format");
    EXPECT_NE(refused.message().find("safetensors"), std::string::npos);
    EXPECT_TRUE(FileHeader(FileFormat::kSafetensors, Tensor(dtype)).ok());
  }
  const absl::Status refused =
      FileHeader(FileFormat::kSafetensors, Tensor("complex128")).status();
  EXPECT_NE(refused.message().find("ask for npy"), std::string::npos);
  EXPECT_EQ(
      ReasonOf(
          FileHeader(FileFormat::kNpy, Tensor("other:torch.quint8")).status()),
      "unreadable_dtype");
}

}  // namespace
}  // namespace graphdbg::tensor
