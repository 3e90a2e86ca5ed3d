#include "agent/recording/safetensors_header.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agent/tensor/dtype.h"

namespace graphdbg::recording {
namespace {

const FileOwner kOwner = {"job \"1\"", 12'345, "1.2"};

class SafetensorsHeaderTest : public testing::Test {
 protected:
  void Add(const char* name, DType dtype, const std::vector<int64_t>& shape,
           uint64_t bytes, uint16_t slot = 0, uint16_t pass = 1) {
    runs::Record record{};
    record.slot = slot;
    record.pass = pass;
    record.dtype = static_cast<uint8_t>(dtype);
    record.tensor.ndim = static_cast<uint8_t>(shape.size());
    for (size_t i = 0; i < shape.size(); ++i) record.tensor.shape[i] = shape[i];
    record.tensor.offset = end_;
    record.tensor.bytes = bytes;
    end_ += bytes;
    records_.push_back(record);
    names_.push_back(name);
  }
  // The header as it is in a file with so much room.
  std::string Text(uint64_t room) {
    std::vector<SavedTensor> tensors;
    for (size_t i = 0; i < records_.size(); ++i) {
      tensors.push_back({&records_[i], names_[i]});
    }
    std::string bytes;
    AppendHeader(kOwner, tensors, room, &bytes);
    EXPECT_EQ(bytes.size(), room);
    uint64_t size = 0;
    std::memcpy(&size, bytes.data(), sizeof(size));
    EXPECT_EQ(sizeof(size) + size, room);
    return bytes.substr(sizeof(size));
  }
  uint64_t EntryBytes() const {
    uint64_t bytes = 0;
    for (size_t i = 0; i < records_.size(); ++i) {
      bytes += HeaderEntryBytes({&records_[i], names_[i]});
    }
    return bytes;
  }

  std::vector<runs::Record> records_;
  std::vector<const char*> names_;
  uint64_t end_ = 0;
};

TEST_F(SafetensorsHeaderTest, FitsIntoTheRoomThatItsEntriesAskFor) {
  constexpr uint64_t kLarge = uint64_t{1} << 40;
  const uint16_t many = UINT16_MAX;
  Add("forward/\x01\"\\\x7f", DType::kFloat8E4m3fn, {}, 1);
  Add("forward/\x01\"\\\x7f", DType::kFloat8E4m3fn, {}, 1);
  Add("a", DType::kComplex128, {}, 16, many, many);
  Add("a", DType::kComplex128, {kLarge, 10, 9, 0}, 0, many, many);
  Add("forward/fc", DType::kFloat8E4m3fn, {kLarge, 999, 1'000}, kLarge);
  Add("forward/fc", DType::kFloat8E5m2, {1}, UINT64_MAX - end_, many, many);
  for (int i = 0; i < 4'000; ++i) {
    Add("again", DType::kBfloat16, {1}, 0, many, many);
  }
  const uint64_t room = sizeof(uint64_t) + MetadataBytes(kOwner) + EntryBytes();
  const auto json = nlohmann::json::parse(Text(room));
  EXPECT_EQ(json.size(), records_.size() + 1);
  EXPECT_TRUE(json.contains("again:65535#65535~4000"));
  EXPECT_EQ(json["__metadata__"]["run"], kOwner.run);
  EXPECT_EQ(json["__metadata__"]["complex128.a:65535#65535~2"], "1");
  EXPECT_EQ(json["a:65535#65535~2"]["shape"],
            nlohmann::json({kLarge, 10, 9, 0, 2}));
}

TEST_F(SafetensorsHeaderTest, AsksForLittleMoreThanItTakes) {
  for (int i = 0; i < 1'000; ++i) {
    Add("forward/layers/0/weight", DType::kFloat32, {32, 32}, 4'096,
        static_cast<uint16_t>(i));
  }
  std::string text = Text(uint64_t{1} << 20);
  text.erase(text.find_last_not_of(' ') + 1);
  EXPECT_LT(static_cast<double>(EntryBytes()),
            1.25 * static_cast<double>(text.size()));
}

}  // namespace
}  // namespace graphdbg::recording
