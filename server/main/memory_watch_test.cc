#include "server/main/memory_watch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

namespace graphdbg {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Blocks that the C library takes from its heap, not from the system.
std::vector<std::unique_ptr<char[]>> Allocate(uint64_t bytes) {
  constexpr size_t kBlock = 64 << 10;
  std::vector<std::unique_ptr<char[]>> blocks;
  for (uint64_t i = 0; i < bytes; i += kBlock) {
    blocks.push_back(std::make_unique<char[]>(kBlock));
    std::memset(blocks.back().get(), 1, kBlock);
  }
  return blocks;
}

TEST(MemoryWatchTest, FreedMemoryGoesBackToTheSystem) {
  const auto budget = std::make_shared<MemoryBudget>(256 * kMiB);
  auto blocks = Allocate(128 * kMiB);
  // The end of the heap stays in use, so nothing is returned by itself.
  const auto last = Allocate(64 << 10);
  ObserveMemory(*budget);
  EXPECT_GT(budget->used(MemoryAccount::kProcess), 120 * kMiB);
  blocks.clear();
  ObserveMemory(*budget);
  EXPECT_LT(budget->used(MemoryAccount::kProcess), 100 * kMiB);
}

TEST(MemoryWatchTest, CountsWhatNoAccountCounts) {
  const auto budget = std::make_shared<MemoryBudget>(1024 * kMiB);
  const auto blocks = Allocate(64 * kMiB);
  ObserveMemory(*budget);
  const uint64_t all = budget->used(MemoryAccount::kProcess);
  EXPECT_GT(all, 60 * kMiB);
  const auto counted = budget->Count(MemoryAccount::kJobs, 60 * kMiB);
  ObserveMemory(*budget);
  EXPECT_LT(budget->used(MemoryAccount::kProcess), all - 50 * kMiB);
}

}  // namespace
}  // namespace graphdbg
