#include "server/jobs/job_index.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace graphdbg::jobs {
namespace {

class FakeRun {
 public:
  explicit FakeRun(std::string id) : id_(std::move(id)) {}
  const std::string& id() const { return id_; }

 private:
  const std::string id_;
};

class JobIndexTest : public testing::Test {
 protected:
  std::shared_ptr<FakeRun> Add(const std::string& requested_id) {
    auto run = std::make_shared<FakeRun>(index_.NextId(requested_id));
    index_.Add(requested_id, run);
    return run;
  }

  JobIndex<FakeRun> index_;
};

TEST_F(JobIndexTest, NumbersTheRunsOfAName) {
  EXPECT_EQ(Add("train")->id(), "train");
  EXPECT_EQ(Add("train")->id(), "train-2");
  EXPECT_EQ(Add("other")->id(), "other");
  EXPECT_EQ(index_.Newest("train")->id(), "train-2");
  EXPECT_EQ(index_.Find("train")->id(), "train");
  EXPECT_EQ(index_.Find("train-3"), nullptr);
  EXPECT_EQ(index_.Newest("train-2"), nullptr);
  EXPECT_EQ(index_.all().size(), 3u);
}

TEST_F(JobIndexTest, AnIdIsNotUsedAgainWhileThereAreOtherRuns) {
  const auto first = Add("train");
  const auto second = Add("train");
  index_.Remove(first);
  EXPECT_EQ(Add("train")->id(), "train-3");
  index_.Remove(index_.Find("train-3"));
  EXPECT_EQ(index_.Newest("train"), second);
  EXPECT_EQ(index_.NextId("train"), "train-4");
  index_.Remove(second);
  EXPECT_EQ(index_.Newest("train"), nullptr);
  EXPECT_EQ(index_.NextId("train"), "train");
}

TEST_F(JobIndexTest, ARequestedIdMayLookLikeThatOfARun) {
  EXPECT_EQ(Add("train-2")->id(), "train-2");
  Add("train");
  EXPECT_EQ(Add("train")->id(), "train-3");
  EXPECT_EQ(Add("train-2")->id(), "train-2-2");
}

TEST_F(JobIndexTest, RestoredRunsCount) {
  index_.Add("train", std::make_shared<FakeRun>("train-12"));
  EXPECT_EQ(index_.NextId("train"), "train-13");
}

TEST_F(JobIndexTest, RunsThatWereRemovedBeforeARestartCount) {
  index_.AddRemoved("train", "train-7");
  EXPECT_EQ(index_.NextId("train"), "train");
  Add("train");
  index_.AddRemoved("train", "train-7");
  EXPECT_EQ(index_.NextId("train"), "train-8");
  index_.AddRemoved("train", "train-3");
  index_.AddRemoved("train", "");
  EXPECT_EQ(index_.NextId("train"), "train-8");
}

TEST_F(JobIndexTest, RemovingTwiceChangesNothing) {
  const auto first = Add("train");
  index_.Remove(first);
  const auto next = Add("train");
  index_.Remove(first);
  EXPECT_EQ(index_.Find("train"), next);
}

}  // namespace
}  // namespace graphdbg::jobs
