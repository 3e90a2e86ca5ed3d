#include "server/jobs/job_description.h"

#include <gtest/gtest.h>

#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

class JobDescriptionTest : public JobFixture {
 protected:
  model::Job Describe() const {
    model::Job job;
    job.name = "id";
    DescribeRanks(machine_, job);
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
