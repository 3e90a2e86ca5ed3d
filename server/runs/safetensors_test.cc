#include "server/runs/safetensors.h"

#include <gtest/gtest.h>

#include <string>

namespace graphdbg::recorded {
namespace {

std::string Size(uint64_t size) {
  return {reinterpret_cast<const char*>(&size), sizeof size};
}

TEST(SafetensorsTest, ReadsTypesShapesAndPlaces) {
  const std::string text =
      R"({"a:0": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [4, 16]},
          "__metadata__": {"step": "7"}})";
  const auto tensors = ParseHeader(text, 8 + text.size() + 16);
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 1u);
  const StoredTensor& tensor = tensors->at("a:0");
  EXPECT_EQ(tensor.type.dtype, DType::kBfloat16);
  EXPECT_EQ(tensor.type.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensor.offset, 8 + text.size() + 4);
  EXPECT_EQ(tensor.bytes, 12u);
}

TEST(SafetensorsTest, RefusesWhatIsNotWithinTheFile) {
  for (const char* entry :
       {R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 80]})",
        R"({"dtype": "F32", "shape": [2], "data_offsets": [8, 0]})",
        R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 4]})",
        R"({"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]})",
        R"({"dtype": "F32", "shape": [4294967296, 4294967296],
            "data_offsets": [0, 0]})",
        R"({"dtype": "F32", "shape": 2, "data_offsets": [0, 8]})",
        R"({"dtype": 3, "shape": [2], "data_offsets": [0, 8]})", "7"}) {
    const std::string text = std::string("{\"x:0\": ") + entry + "}";
    const auto tensors = ParseHeader(text, 8 + text.size() + 16);
    EXPECT_EQ(tensors.status().code(), absl::StatusCode::kDataLoss) << entry;
  }
}

TEST(SafetensorsTest, AHeaderIsAtMostAsLongAsTheFileAndTheLimit) {
  EXPECT_EQ(*HeaderBytes(Size(100), 108), 100u);
  EXPECT_FALSE(HeaderBytes(Size(100), 107).ok());
  EXPECT_FALSE(HeaderBytes(Size(kMaxHeaderBytes + 1), uint64_t{1} << 40).ok());
  EXPECT_FALSE(HeaderBytes(Size(UINT64_MAX), 100).ok());
  EXPECT_FALSE(HeaderBytes("abc", 3).ok());
}

}  // namespace
}  // namespace graphdbg::recorded
