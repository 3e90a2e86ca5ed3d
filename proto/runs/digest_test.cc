#include "proto/runs/digest.h"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <vector>

namespace graphdbg::runs {
namespace {

// The first outputs of splitmix64 with the seed 0: its state after i + 1 steps
// is what element i with no bits is mixed from.
TEST(Digest, MixesLikeSplitmix64) {
  EXPECT_EQ(DigestOf(0, 0), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(DigestOf(1, 0), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(DigestOf(2, 0), 0x06C45D188009454Fu);
}

TEST(Digest, IsTheSumOverTheElements) {
  const std::vector<uint8_t> bytes = {0, 255};
  EXPECT_EQ(Digest(bytes.data(), 2, 1), DigestOf(0, 0) + DigestOf(1, 255));
  const std::vector<float> floats = {1.0f, -1.0f};
  EXPECT_EQ(Digest(floats.data(), 2, 4),
            DigestOf(0, 0x3f800000) + DigestOf(1, 0xbf800000));
}

TEST(Digest, OfPartsAddsUpToThatOfTheWhole) {
  const std::vector<uint16_t> all = {1, 2, 3, 4, 5};
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    EXPECT_EQ(Digest(all.data(), cut, 2) +
                  Digest(all.data() + cut, all.size() - cut, 2, cut),
              Digest(all.data(), all.size(), 2));
  }
}

TEST(Digest, DependsOnTheOrder) {
  const std::vector<int64_t> forward = {1, 2};
  const std::vector<int64_t> backward = {2, 1};
  EXPECT_NE(Digest(forward.data(), 2, 8), Digest(backward.data(), 2, 8));
}

TEST(Digest, OfComplex128IsThatOfItsParts) {
  const std::vector<std::complex<double>> values = {{1, 2}, {3, 4}};
  EXPECT_EQ(Digest(values.data(), 2, 16), Digest(values.data(), 4, 8));
  EXPECT_EQ(Digest(&values[1], 1, 16, 1) + Digest(&values[0], 1, 16),
            Digest(values.data(), 2, 16));
}

TEST(Digest, OfNothingIsZero) {
  EXPECT_EQ(Digest(nullptr, 0, 4), 0u);
  EXPECT_EQ(Digest("abc", 1, 3), 0u);
}

}  // namespace
}  // namespace graphdbg::runs
