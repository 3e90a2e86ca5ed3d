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

TEST_F(JobRestorationTest, RestoresWhatIsBesideTheDamage) {
  SavedRevision newer{2, 1, model::WatchpointSpec()};
  newer.spec->condition.id = "of a newer version";
  saved_.watchpoints.push_back(newer);
  watch::HitRecord hit = saved_.hits[0];
  hit.hit.id = 2;
  hit.hit.watchpoint = 2;
  saved_.hits.insert(saved_.hits.begin(), hit);
  EXPECT_EQ(Restore().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(graph_.node_count(), 1u);
  EXPECT_EQ(watch_table_.Ids(), std::vector<uint32_t>{1});
  EXPECT_EQ(hits_.kept(), 1u);
  EXPECT_EQ(hits_.total(), 5u);
  EXPECT_EQ(known_.History(0, 0, 0).size(), 2u);
}

TEST_F(JobRestorationTest, RestoresOnlyTheConditionsOfEarlierRevisions) {
  SavedRevision second{1, 2, model::WatchpointSpec()};
  second.spec->condition = {"max_gt", {{"value", 1.0}}};
  second.spec->selection.nodes = {"forward/log"};
  saved_.watchpoints.push_back(second);
  saved_.watchpoints.push_back({2, 7, std::nullopt});
  ASSERT_TRUE(Restore().ok());
  EXPECT_EQ(watch_table_.RevisionOf(1), 2u);
  EXPECT_EQ(watch_table_.ConditionAt(1, 1)->id, "nan");
  EXPECT_EQ(watch_table_.SpecOf(1).condition.id, "max_gt");
  EXPECT_EQ(watch_table_.RemovedIds(), std::vector<uint32_t>{2});
}

TEST_F(JobRestorationTest, ReportsNodesThatAreMissing) {
  saved_.ranks[0].ids.nodes.Add(4, 9);
  EXPECT_EQ(Restore().code(), absl::StatusCode::kDataLoss);
}

TEST_F(JobRestorationTest, ReportsHitsOfUnknownWatchpoints) {
  saved_.watchpoints.clear();
  EXPECT_EQ(Restore().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace graphdbg::jobs
