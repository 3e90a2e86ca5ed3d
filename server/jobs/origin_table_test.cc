#include "server/jobs/origin_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

using ::testing::Contains;
using ::testing::Not;

class OriginTableTest : public JobFixture {
 protected:
  OriginTableTest() {
    // Ids differ from process to process.
    for (uint32_t rank = 0; rank < 3; ++rank) {
      AddNodes(Connect(rank, 3), {"forward/sqrt", "backward/allreduce_"});
    }
  }

  void Report(uint32_t rank, const std::string& node, uint64_t order,
              uint64_t step = 5) {
    const bool received = node == "backward/allreduce_";
    table_.Add(*machine_.Find(rank),
               {step, 2 * rank + (received ? 2u : 1u), 0, order, received});
  }

  // Where a NaN of this rank came from; empty: from no other rank.
  std::string SenderOf(uint32_t rank, uint64_t order, uint64_t step = 5,
                       uint64_t nan_count = 1) const {
    return SenderIn(table_, rank, order, step, nan_count);
  }

  static std::string SenderIn(const OriginTable& table, uint32_t rank,
                              uint64_t order, uint64_t step = 5,
                              uint64_t nan_count = 1) {
    model::Hit hit;
    hit.rank = rank;
    hit.step = step;
    hit.order = order;
    hit.statistics.count = 10;
    hit.statistics.nan_count = nan_count;
    table.Complete(hit);
    if (!hit.sent_by) return "";
    return absl::StrCat(hit.sent_by->rank, " ", hit.sent_by->node, " ",
                        hit.sent_by->collective);
  }

  OriginTable table_{graph_, recorder_};
};

TEST_F(OriginTableTest, NamesTheRankAndTheOpThatSentTheValues) {
  Report(0, "backward/allreduce_", 40);
  EXPECT_EQ(SenderOf(0, 48), "");
  Report(2, "forward/sqrt", 7);
  EXPECT_EQ(SenderOf(0, 48), "2 forward/sqrt backward/allreduce_");
  // It is the sender's own.
  EXPECT_EQ(SenderOf(2, 48), "");
  // Before the collective, in another step, and with other values.
  EXPECT_EQ(SenderOf(0, 39), "");
  EXPECT_EQ(SenderOf(0, 48, 6), "");
  EXPECT_EQ(SenderOf(0, 48, 5, 0), "");
}

TEST_F(OriginTableTest, ValuesThatNoRankHasComputedHaveNoSender) {
  for (uint32_t rank = 0; rank < 3; ++rank) {
    Report(rank, "backward/allreduce_", 40);
  }
  EXPECT_EQ(SenderOf(0, 48), "");
}

TEST_F(OriginTableTest, KeepsTheNewestSteps) {
  for (uint64_t step = 1; step <= OriginTable::kMaxSteps + 1; ++step) {
    Report(0, "backward/allreduce_", 40, step);
    Report(1, "forward/sqrt", 7, step);
  }
  EXPECT_EQ(SenderOf(0, 48, 1), "");
  EXPECT_NE(SenderOf(0, 48, 2), "");
  EXPECT_THAT(records_.lines, Contains("erase origins 1"));
  EXPECT_THAT(records_.lines, Not(Contains("erase origins 2")));
}

TEST_F(OriginTableTest, OutlivesTheServer) {
  Report(0, "backward/allreduce_", 40);
  Report(2, "forward/sqrt", 7);
  EXPECT_THAT(records_.lines, Contains("origin 0 1:0 step 5"));
  EXPECT_THAT(records_.lines, Contains("origin 2 0:0 step 5"));
  OriginTable restored(graph_, recorder_);
  restored.Restore({{5, 0, 1, 0, 40, true},
                    {5, 1, 99, 0, 3, false},
                    {5, 2, 0, 0, 7, false}});
  // Nodes that are missing from the graph are ignored.
  EXPECT_EQ(SenderIn(restored, 0, 48), "2 forward/sqrt backward/allreduce_");
}

}  // namespace
}  // namespace graphdbg::jobs
