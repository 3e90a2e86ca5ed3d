#include "server/jobs/job_restoration.h"

#include <gtest/gtest.h>

#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

class JobRestorationTest : public JobFixture {
 protected:
  JobRestorationTest() {
    saved_.ranks[0].run.state = model::JobState::kPaused;
    graph::NodeRecord node;
    node.id = 1;
    node.name = "forward/log";
    saved_.patches.emplace_back();
    saved_.patches[0].nodes = {node};
    saved_.last_steps = {3};
    SavedRevision revision{1, 1, model::WatchpointSpec()};
    revision.spec->condition.id = "nan";
    saved_.watchpoints = {revision};
    watch::HitRecord hit;
    hit.node = 0;
    hit.hit.id = 1;
    hit.hit.watchpoint = 1;
    hit.hit.revision = 1;
    hit.hit.step = 2;
    hit.hit.statistics.count = 8;
    saved_.hits = {hit};
    saved_.hit_total = 5;
    saved_.statistics = {{0, 0, 0, 3, {}}};
  }

  absl::Status Restore() {
    return RestoreJob(saved_, {machine_, graph_, watch_table_, hits_, known_});
  }

  SavedJob saved_;
};

TEST_F(JobRestorationTest, RestoresEveryPart) {
  ASSERT_TRUE(Restore().ok());
  EXPECT_EQ(machine_.job().state, model::JobState::kConnecting);
  EXPECT_EQ(graph_.node(0).last_step, 3u);
  EXPECT_EQ(watch_table_.NodeCountOf(1), 1u);
  EXPECT_EQ(hits_.kept(), 1u);
  EXPECT_EQ(hits_.total(), 5u);
  // One step of a hit, one of an answer.
  EXPECT_EQ(known_.History(0, 0, 0).size(), 2u);
}

TEST_F(JobRestorationTest, ReportsHitsThatContradictOtherRecords) {
  saved_.hits[0].node = 9;
  EXPECT_EQ(Restore().code(), absl::StatusCode::kDataLoss);
}

TEST_F(JobRestorationTest, ReportsHitsOfUnknownWatchpoints) {
  saved_.watchpoints.clear();
  EXPECT_EQ(Restore().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace graphdbg::jobs
