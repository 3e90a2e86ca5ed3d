#include "server/jobs/job_description.h"

#include <gtest/gtest.h>

#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

class JobDescriptionTest : public JobFixture {
 protected:
  model::Job Describe(const ListedRanks& listed = {}) const {
    model::Job job;
    job.name = "id";
    DescribeRanks(machine_, listed, job);
    return job;
  }
};

TEST_F(JobDescriptionTest, TakesTheFrameworkFromTheFirstRank) {
  Rank& rank = Connect(0, 2);
  rank.hello.framework = "torch";
  Connect(1, 2).hello.framework = "other";
  EXPECT_EQ(Describe().framework, "torch");
  EXPECT_EQ(Describe().world_size, 2u);
  EXPECT_EQ(Describe().ranks.size(), 2u);
  EXPECT_EQ(Describe().name, "id");
  rank.hello.job_name = "train";
  EXPECT_EQ(Describe().name, "train");
}

TEST_F(JobDescriptionTest, ListsAllOfFewRanksAlways) {
  Connect(0, 2);
  Connect(1, 2);
  const model::Job job = Describe({ListedRanks::Which::kChanged, {1}, true});
  EXPECT_EQ(job.ranks.size(), 2u);
  EXPECT_TRUE(job.lists_all_ranks);
  EXPECT_FALSE(job.ranks[1].brief);
  EXPECT_TRUE(job.rank_states.empty());
}

TEST_F(JobDescriptionTest, ListsOfManyRanksThoseThatAreAskedFor) {
  constexpr uint32_t kRanks = kFewRanks + 36;
  for (uint32_t rank = 0; rank < kRanks; ++rank) Connect(rank, kRanks);
  Run(*machine_.Find(70), 3);
  EXPECT_EQ(Describe().ranks.size(), kRanks);
  EXPECT_TRUE(Describe().lists_all_ranks);
  const model::Job first = Describe({ListedRanks::Which::kFirst, {}});
  EXPECT_EQ(first.ranks.size(), kFewRanks);
  EXPECT_FALSE(first.lists_all_ranks);
  EXPECT_EQ(first.rank_states.at(model::JobState::kRunning), 1u);
  EXPECT_EQ(first.rank_states.at(model::JobState::kConnecting), kRanks - 1);
  const model::Job changed =
      Describe({ListedRanks::Which::kChanged, {70}, true});
  ASSERT_EQ(changed.ranks.size(), 1u);
  EXPECT_EQ(changed.ranks[0].rank, 70u);
  EXPECT_EQ(changed.ranks[0].step, 3u);
  EXPECT_TRUE(changed.ranks[0].brief);
}

TEST_F(JobDescriptionTest, JobsOfAProtocolWithoutCredentialsAreNotVerified) {
  Rank& rank = Connect(0);
  rank.hello.framework = "torch";
  EXPECT_TRUE(Describe().verified);
  rank.hello.framework = kUnverifiedFramework;
  EXPECT_FALSE(Describe().verified);
}

TEST_F(JobDescriptionTest, ReportsTheStopOfThePausedJob) {
  Rank& rank = Connect(0);
  PauseAt(rank, 4, model::PauseReason::kWatchpoint, 1);
  EXPECT_EQ(Describe().state, model::JobState::kPaused);
  EXPECT_EQ(Describe().pause_reason, model::PauseReason::kWatchpoint);
  EXPECT_EQ(Describe().step, 4u);
  EXPECT_EQ(Describe().node, "node");
}

TEST_F(JobDescriptionTest, HasTheLargestOverheadOfItsRanks) {
  Rank& first = Connect(0, 2);
  Rank& second = Connect(1, 2);
  EXPECT_EQ(Describe().overhead, std::nullopt);
  second.overhead = 0.02;
  EXPECT_EQ(Describe().overhead, 0.02);
  first.overhead = 0.03;
  EXPECT_EQ(Describe().overhead, 0.03);
}

TEST_F(JobDescriptionTest, PrefersTheOutcomeOfARankThatFailed) {
  ExitReport good;
  ExitReport failed;
  failed.exit_code = 3;
  failed.exception = model::Exception{"ValueError", "no", "", ""};
  machine_.OnExit(Connect(0, 2), good);
  EXPECT_EQ(Describe().exit_code, 0);
  machine_.OnExit(Connect(1, 2), failed);
  EXPECT_EQ(Describe().exit_code, 3);
  EXPECT_EQ(Describe().exception->type, "ValueError");
}

TEST_F(JobDescriptionTest, HasTheMetricsOfTheLowestRankThatSavedThem) {
  ExitReport first;
  first.metrics = {{"accuracy", 0.75}};
  ExitReport second;
  second.metrics = {{"accuracy", 0.5}, {"loss", 2}};
  Connect(0, 2);
  machine_.OnExit(Connect(1, 2), second);
  EXPECT_EQ(Describe().metrics, second.metrics);
  machine_.OnExit(*machine_.Find(0), first);
  const std::map<std::string, double> both = {{"accuracy", 0.75}, {"loss", 2}};
  EXPECT_EQ(Describe().metrics, both);
}

TEST_F(JobDescriptionTest, HasTheFirstExceptionOfAllRanks) {
  Rank& follower = Connect(0, 2);
  Rank& cause = Connect(1, 2);
  RunReport stop;
  stop.paused = true;
  stop.reason = model::PauseReason::kError;
  stop.exception = model::Exception{"ValueError", "cause", "", ""};
  machine_.OnRunReport(cause, stop, "");
  ExitReport end;
  end.exit_code = 1;
  end.exception = model::Exception{"RuntimeError", "peer is gone", "", ""};
  machine_.OnExit(follower, end);
  EXPECT_EQ(Describe().exception->message, "cause");
  end.exception = stop.exception;
  machine_.OnExit(cause, end);
  EXPECT_EQ(Describe().exception->message, "cause");
}

}  // namespace
}  // namespace graphdbg::jobs
