#include "server/watch/hit_log.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/base/error.h"

namespace graphdbg::watch {
namespace {

class HitLogTest : public testing::Test {
 protected:
  HitLogTest() {
    graph::GraphPatch patch;
    uint32_t id = 0;
    for (const char* name : {"f/conv/conv2d", "f/log", "f/log_1"}) {
      graph::NodeRecord record;
      record.id = ++id;
      record.name = name;
      record.op_type = "op";
      record.stack = {{"train.py", id, "main", "", true}};
      patch.nodes.push_back(record);
    }
    graph::AgentIds ids;
    EXPECT_TRUE(graph_.Apply(patch, ids).ok());
  }

  static HitRecord Hit(uint32_t watchpoint, uint64_t step, uint64_t order,
                       const graph::NodeIndex node, uint32_t rank = 0) {
    HitRecord record;
    record.hit.watchpoint = watchpoint;
    record.hit.condition =
        std::make_shared<const model::Condition>(model::Condition{"nan", {}});
    record.hit.rank = rank;
    record.hit.step = step;
    record.hit.order = order;
    record.node = node;
    return record;
  }

  static std::vector<uint64_t> Ids(
      const absl::StatusOr<model::HitPage>& result) {
    std::vector<uint64_t> ids;
    EXPECT_TRUE(result.ok()) << result.status();
    for (const auto& hit : result->hits) ids.push_back(hit.id);
    return ids;
  }

  graph::GraphStore graph_;
};

using Numbers = std::vector<uint64_t>;

TEST_F(HitLogTest, FindsAHitByItsId) {
  HitLog log(graph_);
  log.Add(Hit(1, 2, 1, 0));
  log.Add(Hit(1, 1, 5, 1));
  model::HitQuery query;
  query.id = 2;
  const auto found = log.Query(query);
  EXPECT_EQ(Ids(found), Numbers({2}));
  EXPECT_EQ(found->hits[0].step, 1);
  for (const uint64_t unknown : {0, 3}) {
    query.id = unknown;
    EXPECT_EQ(Ids(log.Query(query)), Numbers());
  }
}

TEST_F(HitLogTest, ListsInExecutionOrderWhateverCameFirst) {
  HitLog log(graph_);
  log.Add(Hit(1, 2, 1, 0));
  log.Add(Hit(1, 1, 5, 1));
  log.Add(Hit(1, 1, 4, 0, 1));
  log.Add(Hit(1, 1, 4, 0, 0));
  EXPECT_EQ(Ids(log.Query({})), (Numbers{4, 3, 2, 1}));
}

TEST_F(HitLogTest, CountsForNodesScopesAndWatchpoints) {
  HitLog log(graph_);
  log.Add(Hit(1, 1, 1, 0));
  log.Add(Hit(2, 1, 2, 1));
  EXPECT_EQ(log.total(), 2u);
  EXPECT_EQ(log.CountOf({false, 0}), 1u);
  EXPECT_EQ(log.CountOf({false, 2}), 0u);
  EXPECT_EQ(log.CountOf({true, *graph_.FindScope("", "f/conv")}), 1u);
  EXPECT_EQ(log.CountOf({true, *graph_.FindScope("", "f")}), 2u);
  EXPECT_EQ(log.CountOf({true, *graph_.FindScope("", "")}), 2u);
  EXPECT_EQ(log.CountOfWatchpoint(2), 1u);
}

TEST_F(HitLogTest, CountsAbsorbedHitsApart) {
  HitLog log(graph_);
  HitRecord absorbed = Hit(1, 1, 1, 1);
  absorbed.hit.absorbed = true;
  EXPECT_TRUE(log.Add(absorbed).absorbed);
  log.Add(Hit(1, 1, 2, 1));
  EXPECT_EQ(log.total(), 2u);
  EXPECT_EQ(log.absorbed(), 1u);
  EXPECT_EQ(log.CountOfWatchpoint(1), 1u);
  EXPECT_EQ(log.CountOf({false, 1}), 1u);
  EXPECT_EQ(Ids(log.Query({})), (Numbers{1, 2}));
}

TEST_F(HitLogTest, Filters) {
  HitLog log(graph_);
  log.Add(Hit(1, 1, 1, 0));
  log.Add(Hit(2, 1, 2, 1));
  log.Add(Hit(1, 2, 2, 2, 1));
  model::HitQuery query;
  query.watchpoint = 1;
  EXPECT_EQ(Ids(log.Query(query)), (Numbers{1, 3}));
  query = {};
  query.step = 1;
  EXPECT_EQ(Ids(log.Query(query)), (Numbers{1, 2}));
  query = {};
  query.rank = 1;
  EXPECT_EQ(Ids(log.Query(query)), (Numbers{3}));
  query = {};
  query.node = "f/log";
  EXPECT_EQ(Ids(log.Query(query)), (Numbers{2}));
  query.node = "f";
  EXPECT_EQ(Ids(log.Query(query)), (Numbers{1, 2, 3}));
}

TEST_F(HitLogTest, KnowsTheNewestOfATensor) {
  HitLog log(graph_);
  for (uint64_t step = 1; step <= 4; ++step) log.Add(Hit(1, step, 1, 1));
  HitRecord other = Hit(1, 5, 1, 1);
  other.hit.slot = 1;
  log.Add(other);
  log.Add(Hit(1, 6, 1, 2));
  const HitLog::TensorHits hits = log.OnTensor(1, 0, 2);
  EXPECT_EQ(hits.count, 4u);
  ASSERT_EQ(hits.newest.size(), 2u);
  EXPECT_EQ(hits.newest[0].step, 4u);
  EXPECT_EQ(hits.newest[1].step, 3u);
  EXPECT_EQ(log.OnTensor(0, 0, 2).count, 0u);
}

TEST_F(HitLogTest, PagesWithoutLossWhileHitsCome) {
  HitLog log(graph_);
  for (uint64_t order = 1; order <= 5; ++order) log.Add(Hit(1, 1, order, 0));
  model::HitQuery query;
  query.limit = 2;
  Numbers seen;
  for (int page = 0; page < 10; ++page) {
    auto result = log.Query(query);
    for (uint64_t id : Ids(result)) seen.push_back(id);
    query.cursor = result->next_cursor;
    if (query.cursor.empty()) break;
    if (page == 0) log.Add(Hit(1, 1, 6, 0));
  }
  EXPECT_EQ(seen, (Numbers{1, 2, 3, 4, 5, 6}));
  for (const char* cursor : {"x", "1.2.3", "1.2.3.4.5", "1..2.3", "-1.2.3.4"}) {
    query.cursor = cursor;
    EXPECT_EQ(FieldOf(log.Query(query).status()), "cursor") << cursor;
  }
}

TEST_F(HitLogTest, TakesTheLineOfTheNodeIfTheAgentSentNone) {
  HitLog log(graph_);
  EXPECT_EQ(log.Add(Hit(1, 1, 1, 1)).source->line, 2u);
  HitRecord record = Hit(1, 1, 1, 1);
  record.hit.source = std::make_shared<const model::SourceLine>(
      model::SourceLine{"other.py", 99, "", "", true});
  EXPECT_EQ(log.Add(record).source->line, 99u);
}

// Memory: a log of 200,000 hits holds few different lines.
TEST_F(HitLogTest, HitsOnANodeShareTheirSourceLine) {
  HitLog log(graph_);
  const auto sent = [&](uint32_t line) {
    HitRecord record = Hit(1, 1, 1, 1);
    record.hit.source = std::make_shared<const model::SourceLine>(
        model::SourceLine{"train.py", line, "", "", true});
    return log.Add(record).source;
  };
  const auto first = sent(7);
  EXPECT_EQ(sent(7), first);
  EXPECT_NE(sent(8), first);
}

TEST_F(HitLogTest, HitsCarryTheNameAndTypeOfTheirNode) {
  HitLog log(graph_);
  const model::Hit added = log.Add(Hit(1, 1, 1, 1));
  EXPECT_EQ(added.node, "f/log");
  EXPECT_EQ(added.op_type, "op");
  EXPECT_EQ(log.Newest(1)[0].node, "f/log");
}

TEST_F(HitLogTest, GivesTheNewestInTheOrderInWhichTheyCame) {
  HitLog log(graph_);
  EXPECT_TRUE(log.Newest(2).empty());
  for (uint64_t step : {3, 2, 1}) log.Add(Hit(1, step, 1, 0));
  const auto newest = log.Newest(2);
  ASSERT_EQ(newest.size(), 2u);
  EXPECT_EQ(newest[0].id, 2u);
  EXPECT_EQ(newest[1].id, 3u);
  EXPECT_EQ(log.Newest(9).size(), 3u);
}

TEST_F(HitLogTest, KeepsTheFirstAndCountsTheRest) {
  HitLog log(graph_, 2);
  for (int i = 0; i < 5; ++i) log.Add(Hit(1, 1, 1, 0));
  EXPECT_TRUE(log.full());
  EXPECT_EQ(log.total(), 5u);
  EXPECT_EQ(log.CountOf({false, 0}), 5u);
  EXPECT_EQ(Ids(log.Query({})), (Numbers{1, 2}));
}

}  // namespace
}  // namespace graphdbg::watch
