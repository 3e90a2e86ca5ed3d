#include "agent/core/step_map.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

TEST(StepMapTest, FindsWhatWasPutThere) {
  StepMap<int> map;
  EXPECT_EQ(map.Find(0), nullptr);
  EXPECT_EQ(map.At(0), 0);
  map.At(0) = 5;
  map.At(UINT64_MAX) = 7;
  EXPECT_EQ(*map.Find(0), 5);
  EXPECT_EQ(*map.Find(UINT64_MAX), 7);
  EXPECT_EQ(map.Find(1), nullptr);
}

TEST(StepMapTest, GrowsWithKeysAlike) {
  StepMap<uint64_t> map;
  // Keys like addresses and node numbers.
  for (const uint64_t factor :
       {uint64_t{1}, uint64_t{4096}, uint64_t{1} << 32}) {
    for (uint64_t i = 1; i <= 5000; ++i) map.At(i * factor) = i;
  }
  for (uint64_t i = 1; i <= 5000; ++i) {
    ASSERT_NE(map.Find(i << 32), nullptr);
    EXPECT_EQ(*map.Find(i << 32), i);
  }
  EXPECT_EQ(map.Find(uint64_t{5001} << 32), nullptr);
}

TEST(StepMapTest, ForgetsEverything) {
  StepMap<int> map;
  for (int step = 1; step <= 100; ++step) {
    for (uint64_t key = 0; key < 50; ++key) {
      EXPECT_EQ(map.Find(key), nullptr);
      EXPECT_EQ(map.At(key), 0);
      map.At(key) = step;
    }
    map.Clear();
  }
  EXPECT_EQ(map.Find(3), nullptr);
}

}  // namespace
}  // namespace graphdbg::agent
