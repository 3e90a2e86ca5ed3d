#include "server/jobs/command_log.h"

#include <gtest/gtest.h>

namespace graphdbg::jobs {
namespace {

TEST(CommandLogTest, CompletesACommandWhenTheLastRankHasAnswered) {
  CommandLog log;
  const uint64_t id = log.Open({0, 1});
  EXPECT_FALSE(log.Answer(id, 0, "").has_value());
  // A second answer from the same rank does not count for another.
  EXPECT_FALSE(log.Answer(id, 0, "").has_value());
  auto result = log.Answer(id, 1, "");
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->id, id);
  EXPECT_EQ(result->error, "");
  EXPECT_FALSE(log.Answer(id, 1, "").has_value());
}

TEST(CommandLogTest, AssignsConsecutiveIds) {
  CommandLog log;
  const uint64_t first = log.Open({0});
  EXPECT_EQ(log.Open({0}), first + 1);
}

TEST(CommandLogTest, NamesTheRanksThatRefused) {
  CommandLog log;
  const uint64_t id = log.Open({0, 1, 2});
  log.Answer(id, 0, "");
  log.Answer(id, 1, "not paused");
  auto result = log.Answer(id, 2, "busy");
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->error, "rank 1: not paused; rank 2: busy");
}

TEST(CommandLogTest, AnswersForARankThatIsGone) {
  CommandLog log;
  const uint64_t alone = log.Open({0});
  const uint64_t shared = log.Open({0, 1});
  const uint64_t others = log.Open({1});
  auto results = log.Abandon(0, "gone");
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].id, alone);
  EXPECT_EQ(results[0].error, "rank 0: gone");
  EXPECT_EQ(log.Answer(shared, 1, "")->error, "rank 0: gone");
  EXPECT_EQ(log.Answer(others, 1, "")->error, "");
}

}  // namespace
}  // namespace graphdbg::jobs
