#include "server/jobs/job_events.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace graphdbg::jobs {
namespace {

class JobEventsTest : public testing::Test {
 protected:
  std::shared_ptr<EventBus> bus_ = std::make_shared<EventBus>();
  std::vector<model::Event> seen_;
  // What the job was asked to list.
  std::vector<ListedRanks> listed_;
  std::shared_ptr<void> subscription_ =
      bus_->Subscribe([this](const auto& event) { seen_.push_back(*event); });
  JobEvents events_{"train", 40, bus_, [this](const ListedRanks& listed) {
                      model::Job job;
                      job.step = 7;
                      listed_.push_back(listed);
                      return job;
                    }};
};

TEST_F(JobEventsTest, NumbersEventsConsecutively) {
  events_.PublishGraph(1, 12);
  events_.PublishLog(2, "warning", "careful");
  ASSERT_EQ(seen_.size(), 2u);
  EXPECT_EQ(seen_[0].seq, 41u);
  EXPECT_EQ(seen_[1].seq, 42u);
  EXPECT_EQ(seen_[0].job, "train");
  EXPECT_EQ(seen_[0].node_count, 12u);
  EXPECT_EQ(seen_[1].rank, 2u);
  EXPECT_EQ(seen_[1].message, "careful");
}

TEST_F(JobEventsTest, DescribesTheJobInJobAndStateEvents) {
  events_.PublishJob(0);
  events_.PublishState(0);
  events_.PublishRemoval();
  ASSERT_EQ(seen_.size(), 3u);
  EXPECT_EQ(seen_[0].job_info->step, 7u);
  EXPECT_EQ(seen_[1].job_info->step, 7u);
  EXPECT_FALSE(seen_[2].job_info.has_value());
}

TEST_F(JobEventsTest, TellsWhichRanksAnEventIsAbout) {
  events_.PublishJob(4);
  events_.PublishStates({1, 3});
  ASSERT_EQ(listed_.size(), 2u);
  EXPECT_EQ(listed_[0].changed, std::vector<uint32_t>{4});
  // A process that is new to clients.
  EXPECT_FALSE(listed_[0].brief);
  EXPECT_EQ(listed_[1].changed, (std::vector<uint32_t>{1, 3}));
  EXPECT_TRUE(listed_[1].brief);
  EXPECT_EQ(seen_[1].rank, 1u);
}

TEST_F(JobEventsTest, ReportsResultsOfCommands) {
  model::ControlRequest request;
  request.rank = 3;
  events_.PublishCommand(5, request);
  events_.PublishCommandResult(3, {5, ""});
  events_.PublishCommandResult(3, {6, "rank 3: refused"});
  ASSERT_EQ(seen_.size(), 3u);
  EXPECT_EQ(seen_[0].command_id, "5");
  EXPECT_EQ(seen_[0].rank, 3u);
  EXPECT_EQ(seen_[1].level, "");
  EXPECT_EQ(seen_[2].level, "error");
  EXPECT_EQ(seen_[2].message, "rank 3: refused");
}

TEST_F(JobEventsTest, ARemovedWatchpointHasOnlyAnId) {
  events_.PublishWatchpoint(9, std::nullopt);
  EXPECT_EQ(seen_[0].watchpoint_id, 9u);
  EXPECT_FALSE(seen_[0].watchpoint.has_value());
}

}  // namespace
}  // namespace graphdbg::jobs
