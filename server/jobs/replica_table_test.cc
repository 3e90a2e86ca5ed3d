#include "server/jobs/replica_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ReplicaTableTest : public JobFixture {
 protected:
  static constexpr uint32_t kRanks = 4;

  ReplicaTableTest() {
    // Ids differ from process to process: 1 and 2, 3 and 4, and so on.
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      AddNodes(Connect(rank, kRanks), {"forward/weight", "forward/bias"});
    }
  }

  // The digests of weight and bias on a rank.
  std::vector<std::string> Report(uint32_t rank, uint64_t moment,
                                  uint64_t weight, uint64_t bias,
                                  uint32_t group_size = kRanks) {
    ReplicaReport report;
    report.step = moment;
    report.group = "0";
    report.group_size = group_size;
    report.moment = moment;
    report.replicas = {{2 * rank + 1, weight}, {2 * rank + 2, bias}};
    std::vector<std::string> found;
    for (const auto& each : table_.Add(*machine_.Find(rank), report)) {
      found.push_back(absl::StrCat(each.rank, ":", each.node_id, ": ",
                                   each.message, ", step ", each.step));
    }
    return found;
  }

  ReplicaTable table_{graph_};
};

TEST_F(ReplicaTableTest, EqualReplicasAreNoFinding) {
  for (uint64_t moment = 1; moment <= 3; ++moment) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      EXPECT_THAT(Report(rank, moment, moment, 7), IsEmpty());
    }
  }
  EXPECT_EQ(table_.digests(), 0u);
}

TEST_F(ReplicaTableTest, NamesTheRankThatDiffersFromMost) {
  EXPECT_THAT(Report(0, 1, 5, 7), IsEmpty());
  EXPECT_THAT(Report(2, 1, 6, 8), IsEmpty());
  EXPECT_THAT(Report(1, 1, 5, 7), IsEmpty());
  EXPECT_THAT(Report(3, 1, 5, 7),
              ElementsAre("2:5: rank 2 differs from ranks 0, 1 and 3 in "
                          "forward/weight and 1 other parameter, step 1"));
}

TEST_F(ReplicaTableTest, WithoutAMajorityAllRanksDiffer) {
  Report(0, 1, 5, 7, 2);
  EXPECT_THAT(
      Report(1, 1, 5, 8, 2),
      ElementsAre("0:2: ranks 0 and 1 differ from each other in forward/bias, "
                  "step 1",
                  "1:4: ranks 0 and 1 differ from each other in forward/bias, "
                  "step 1"));
  Report(0, 2, 5, 7);
  Report(1, 2, 6, 7);
  Report(2, 2, 6, 7);
  const auto found = Report(3, 2, 5, 7);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[3],
            "3:7: ranks 0 and 3 and ranks 1 and 2 differ in forward/weight, "
            "step 2");
}

TEST_F(ReplicaTableTest, ReportsOnlyWhatIsNew) {
  Report(0, 1, 5, 7, 3);
  Report(1, 1, 5, 7, 3);
  EXPECT_EQ(Report(2, 1, 6, 7, 3).size(), 1u);
  Report(0, 2, 5, 7, 3);
  Report(1, 2, 5, 7, 3);
  EXPECT_THAT(Report(2, 2, 6, 7, 3), IsEmpty());
  Report(0, 3, 5, 7, 3);
  Report(1, 3, 5, 7, 3);
  EXPECT_THAT(Report(2, 3, 6, 8, 3),
              ElementsAre("2:6: rank 2 differs from ranks 0 and 1 in "
                          "forward/bias and 1 other parameter, step 3"));
  // They were equal in between.
  for (uint32_t rank = 0; rank < 3; ++rank) Report(rank, 4, 5, 7, 3);
  Report(0, 5, 5, 7, 3);
  Report(1, 5, 5, 7, 3);
  EXPECT_EQ(Report(2, 5, 6, 7, 3).size(), 1u);
}

TEST_F(ReplicaTableTest, ComparesTheMomentsThatAllRanksReport) {
  for (uint64_t moment = 1; moment <= 40; ++moment) {
    Report(0, moment, moment, 7, 2);
  }
  EXPECT_EQ(table_.digests(), 2 * ReplicaTable::kMaxMoments);
  EXPECT_THAT(Report(1, 1, 99, 7, 2), IsEmpty());
  EXPECT_THAT(Report(1, 32, 32, 7, 2), IsEmpty());
  EXPECT_EQ(table_.digests(), 2u * 8);
  EXPECT_EQ(Report(1, 40, 0, 7, 2).size(), 2u);
  EXPECT_EQ(table_.digests(), 0u);
}

TEST_F(ReplicaTableTest, TensorsOfOneRankAloneAreNotCompared) {
  ReplicaReport report;
  report.group = "0";
  report.group_size = 2;
  report.moment = 1;
  report.replicas = {{1, 5}};
  EXPECT_THAT(table_.Add(*machine_.Find(0), report), IsEmpty());
  report.replicas = {{4, 6}, {1'000, 8}};
  EXPECT_THAT(table_.Add(*machine_.Find(1), report), IsEmpty());
}

TEST_F(ReplicaTableTest, ARankThatStartsAnewIsNotComparedWithThePast) {
  Report(0, 7, 5, 7, 2);
  Report(0, 1, 1, 1, 2);
  EXPECT_THAT(Report(1, 7, 6, 6, 2), IsEmpty());
  EXPECT_EQ(table_.digests(), 4u);
}

}  // namespace
}  // namespace graphdbg::jobs
