#include "proto/runs/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace graphdbg::runs {
namespace {

uint32_t Of(const std::string& bytes) {
  return Crc32c(bytes.data(), bytes.size());
}

// The check value of the CRC catalogue, and the vectors of RFC 3720, B.4.
TEST(Crc32c, HasTheKnownValues) {
  EXPECT_EQ(Of(""), 0u);
  EXPECT_EQ(Of("123456789"), 0xE3069283u);
  EXPECT_EQ(Of(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(Of(std::string(32, '\xff')), 0x62A8AB43u);
  std::string ascending(32, '\0');
  std::iota(ascending.begin(), ascending.end(), '\0');
  EXPECT_EQ(Of(ascending), 0x46DD794Eu);
  EXPECT_EQ(Of({ascending.rbegin(), ascending.rend()}), 0x113FDB5Cu);
}

TEST(Crc32c, OfPartsIsThatOfTheWhole) {
  const std::string bytes = "every part, at every place";
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const uint32_t first = Crc32c(bytes.data(), cut);
    EXPECT_EQ(ExtendCrc32c(first, bytes.data() + cut, bytes.size() - cut),
              Of(bytes));
  }
}

TEST(Crc32c, TableAndInstructionAgree) {
  std::vector<uint8_t> bytes(700);
  uint32_t state = 1;
  for (uint8_t& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<uint8_t>(state >> 24);
  }
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t size = 0; begin + size <= bytes.size(); ++size) {
      EXPECT_EQ(ExtendCrc32c(7, bytes.data() + begin, size),
                ExtendCrc32cByTable(7, bytes.data() + begin, size));
    }
  }
}

TEST(Crc32c, OfACopyIsThatOfTheOriginal) {
  std::vector<uint8_t> bytes(5'000);
  std::iota(bytes.begin(), bytes.end(), uint8_t{3});
  for (size_t size : {0, 1, 1'023, 1'024, 1'200, 4'096, 4'900}) {
    for (size_t at = 0; at < 70; ++at) {
      std::vector<uint8_t> copy(bytes.size(), 0);
      EXPECT_EQ(
          CopyAndExtendCrc32c(7, copy.data() + at, bytes.data() + 5, size),
          ExtendCrc32c(7, bytes.data() + 5, size));
      std::vector<uint8_t> expected(bytes.size(), 0);
      std::copy_n(bytes.begin() + 5, size, expected.begin() + at);
      EXPECT_EQ(copy, expected) << size << " bytes at " << at;
    }
  }
}

}  // namespace
}  // namespace graphdbg::runs
