#include "server/jobs/process_index.h"

#include <gtest/gtest.h>

#include <memory>

namespace graphdbg::jobs {
namespace {

// The index never looks into a job.
std::shared_ptr<LiveJob> SomeJob() {
  auto owner = std::make_shared<int>();
  return {owner, reinterpret_cast<LiveJob*>(owner.get())};
}

AgentHello Process(const std::string& incarnation) {
  AgentHello hello;
  hello.job = "train";
  hello.incarnation = incarnation;
  return hello;
}

TEST(ProcessIndexTest, FindsTheJobOfAProcess) {
  ProcessIndex index;
  const auto job = SomeJob();
  const auto newer = SomeJob();
  index.Add("train", Process("one"), job);
  index.Add("train", Process("two"), newer);
  EXPECT_EQ(index.Find(Process("one")), job);
  EXPECT_EQ(index.Find(Process("two")), newer);
  EXPECT_EQ(index.Find(Process("three")), nullptr);
  AgentHello other_rank = Process("one");
  other_rank.rank = 1;
  EXPECT_EQ(index.Find(other_rank), nullptr);
}

TEST(ProcessIndexTest, AProcessWithoutAnIncarnationIsNeverFound) {
  ProcessIndex index;
  const auto job = SomeJob();
  index.Add("train", Process(""), job);
  EXPECT_EQ(index.Find(Process("")), nullptr);
}

TEST(ProcessIndexTest, DoesNotKeepJobsAlive) {
  ProcessIndex index;
  auto job = SomeJob();
  index.Add("train", Process("one"), job);
  job.reset();
  EXPECT_EQ(index.Find(Process("one")), nullptr);
}

}  // namespace
}  // namespace graphdbg::jobs
