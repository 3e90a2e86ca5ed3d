#include "server/jobs/command_log.h"

#include <gtest/gtest.h>

namespace graphdbg::jobs {
namespace {

TEST(CommandLogTest, EndsACommandWhenTheLastRankHasAnswered) {
  CommandLog log;
  const uint64_t id = log.Open({0, 1});
  EXPECT_FALSE(log.Answer(id, 0, "").has_value());
  // A second answer of one rank is not another's.
  EXPECT_FALSE(log.Answer(id, 0, "").has_value());
  auto end = log.Answer(id, 1, "");
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->id, id);
  EXPECT_EQ(end->error, "");
  EXPECT_FALSE(log.Answer(id, 1, "").has_value());
}

TEST(CommandLogTest, CountsIdsUp) {
  CommandLog log;
  const uint64_t first = log.Open({0});
  EXPECT_EQ(log.Open({0}), first + 1);
}

TEST(CommandLogTest, SaysWhichRankRefused) {
  CommandLog log;
  const uint64_t id = log.Open({0, 1, 2});
  log.Answer(id, 0, "");
  log.Answer(id, 1, "not paused");
  auto end = log.Answer(id, 2, "busy");
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->error, "rank 1: not paused; rank 2: busy");
}

TEST(CommandLogTest, EndsWhatARankThatIsGoneHadYetToAnswer) {
  CommandLog log;
  const uint64_t alone = log.Open({0});
  const uint64_t shared = log.Open({0, 1});
  const uint64_t others = log.Open({1});
  auto ends = log.Drop(0, "gone");
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].id, alone);
  EXPECT_EQ(ends[0].error, "rank 0: gone");
  EXPECT_EQ(log.Answer(shared, 1, "")->error, "rank 0: gone");
  EXPECT_EQ(log.Answer(others, 1, "")->error, "");
}

}  // namespace
}  // namespace graphdbg::jobs
