#include "agent/core/watch_table.h"

#include <string>

#include "gtest/gtest.h"
#include "proto/wire/error.h"

namespace graphdbg::agent {
namespace {

class WatchTableTest : public testing::Test {
 protected:
  uint32_t Declare(const std::string& name,
                   graphdbg_category category = GRAPHDBG_OTHER) {
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name.c_str();
    info.kind = GRAPHDBG_OP;
    info.category = category;
    const uint32_t node = *nodes_.Declare(info);
    watch_.AddNode(node);
    return node;
  }

  absl::StatusOr<uint32_t> Watch(uint32_t id, const std::string& pattern,
                                 const std::string& condition = "nan",
                                 bool enabled = true) {
    v1::SetWatchpoint message;
    message.set_id(id);
    message.mutable_condition()->set_id(condition);
    if (!pattern.empty()) message.mutable_selection()->add_patterns(pattern);
    message.set_enabled(enabled);
    return watch_.Set(message);
  }

  std::vector<uint32_t> IdsOn(uint32_t node) {
    std::vector<uint32_t> ids;
    const auto snapshot = watch_.snapshot();
    if (const WatchSnapshot::Set* set = snapshot->On(node)) {
      for (const Watchpoint* watchpoint : set->watchpoints) {
        ids.push_back(watchpoint->id);
      }
    }
    EXPECT_EQ(nodes_.Facts(node)->has(kWatched), !ids.empty());
    return ids;
  }

  using Ids = std::vector<uint32_t>;
  NodeTable nodes_;
  WatchTable watch_{&nodes_};
};

TEST_F(WatchTableTest, CountsTheNodesItCovers) {
  const uint32_t a = Declare("forward/a");
  const uint32_t b = Declare("forward/b");
  EXPECT_EQ(*Watch(1, "**/a"), 1u);
  EXPECT_EQ(*Watch(2, ""), 2u);
  EXPECT_EQ(IdsOn(a), (Ids{1, 2}));
  EXPECT_EQ(IdsOn(b), (Ids{2}));
}

TEST_F(WatchTableTest, NewNodesAreMatchedAsTheyAreDeclared) {
  EXPECT_EQ(*Watch(1, "forward/*"), 0u);
  EXPECT_EQ(IdsOn(Declare("forward/late")), (Ids{1}));
  EXPECT_EQ(IdsOn(Declare("backward/late")), Ids{});
}

TEST_F(WatchTableTest, ConditionsThatTheProgramReportsCoverNoNode) {
  const uint32_t a = Declare("a");
  EXPECT_EQ(wire::ReasonOf(Watch(1, "", "loss_detached").status()),
            "unsupported_condition");
  WatchTable reported(&nodes_, /*program_reports=*/true);
  v1::SetWatchpoint message;
  message.set_id(1);
  message.mutable_condition()->set_id("loss_detached");
  message.set_enabled(true);
  EXPECT_EQ(*reported.Set(message), 0u);
  const auto snapshot = reported.snapshot();
  EXPECT_EQ(snapshot->On(a), nullptr);
  EXPECT_TRUE(snapshot->has_reported());
  EXPECT_FALSE(snapshot->tests_values());
  EXPECT_FALSE(snapshot->empty());
  ASSERT_EQ(snapshot->OnReported("loss_detached").size(), 1u);
  EXPECT_TRUE(snapshot->OnReported("wrong_mode").empty());
  reported.Remove(1);
  EXPECT_FALSE(reported.snapshot()->has_reported());
}

TEST_F(WatchTableTest, ChangesAndRemovalsTakeEffectOnAllNodes) {
  const uint32_t a = Declare("a");
  EXPECT_TRUE(Watch(1, "").ok());
  EXPECT_TRUE(Watch(1, "b").ok());
  EXPECT_EQ(IdsOn(a), Ids{});
  EXPECT_TRUE(Watch(1, "a").ok());
  EXPECT_TRUE(Watch(2, "a").ok());
  watch_.Remove(1);
  EXPECT_EQ(IdsOn(a), (Ids{2}));
  EXPECT_EQ(*Watch(2, "a", "nan", /*enabled=*/false), 0u);
  EXPECT_EQ(IdsOn(a), Ids{});
  EXPECT_TRUE(watch_.snapshot()->empty());
}

TEST_F(WatchTableTest, ConditionsThatAreNoneAreRefusedByName) {
  Declare("a");
  const absl::Status status = Watch(1, "", "bogus").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(wire::ReasonOf(status), "unknown_condition");
  EXPECT_TRUE(watch_.snapshot()->empty());
}

TEST_F(WatchTableTest, ConditionsAboutWeightsCoverWeightsAlone) {
  const uint32_t op = Declare("forward/fc/addmm");
  const uint32_t weight = Declare("forward/fc/weight", GRAPHDBG_WEIGHT);
  EXPECT_EQ(*Watch(1, "", "weight_not_changed"), 1u);
  EXPECT_EQ(*Watch(2, "forward/**", "nan"), 2u);
  EXPECT_EQ(IdsOn(op), (Ids{2}));
  EXPECT_EQ(IdsOn(weight), (Ids{1, 2}));
  const auto snapshot = watch_.snapshot();
  EXPECT_FALSE(snapshot->On(op)->needs.statistics);
  EXPECT_FALSE(snapshot->On(op)->needs.previous);
  EXPECT_TRUE(snapshot->On(weight)->needs.statistics);
  EXPECT_TRUE(snapshot->On(weight)->needs.previous);
}

TEST_F(WatchTableTest, ASnapshotStaysAsItWas) {
  const uint32_t a = Declare("a");
  EXPECT_TRUE(Watch(1, "").ok());
  const auto old = watch_.snapshot();
  watch_.Remove(1);
  ASSERT_NE(old->On(a), nullptr);
  EXPECT_EQ(old->On(a)->watchpoints.front()->id, 1u);
  EXPECT_EQ(watch_.snapshot()->On(a), nullptr);
}

TEST_F(WatchTableTest, KnowsWhetherAnythingStopsOrConcernsInfinities) {
  EXPECT_TRUE(Watch(1, "", "nan").ok());
  EXPECT_TRUE(watch_.snapshot()->pauses());
  EXPECT_FALSE(watch_.snapshot()->matches_infinities());
  EXPECT_TRUE(Watch(2, "", "overflow").ok());
  EXPECT_TRUE(watch_.snapshot()->matches_infinities());
}

// Whatever the server sends, matching must not hold up the training process.
TEST_F(WatchTableTest, RefusesPatternsThatAreTooLong) {
  const uint32_t a = Declare("a");
  EXPECT_EQ(wire::ReasonOf(Watch(1, std::string(4'097, '*')).status()),
            "patterns_too_long");
  EXPECT_EQ(IdsOn(a), Ids{});
  const std::string longest = "*" + std::string(4'095, 'a');
  for (uint32_t id = 1; id <= 16; ++id) {
    EXPECT_EQ(*Watch(id, longest), 0u);
  }
  EXPECT_EQ(wire::ReasonOf(Watch(17, longest).status()), "patterns_too_long");
  // Others stay, and may be replaced.
  EXPECT_EQ(*Watch(16, "a"), 1u);
  EXPECT_EQ(IdsOn(a), Ids{16});
}

TEST_F(WatchTableTest, KnowsTheTypeAndTheLineOfANodeThatIsDeclaredLater) {
  v1::SetWatchpoint message;
  message.set_id(1);
  message.set_enabled(true);
  message.mutable_condition()->set_id("executed");
  message.mutable_selection()->add_sources("model.py:32");
  message.mutable_selection()->mutable_exclude()->add_op_types("relu");
  EXPECT_EQ(*watch_.Set(message), 0u);
  const auto declare = [&](const char* name, const char* type, uint32_t line) {
    graphdbg_source_frame frame = {};
    frame.file = "/home/a/model.py";
    frame.line = line;
    frame.user = 1;
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name;
    info.op_type = type;
    info.kind = GRAPHDBG_OP;
    info.stack = &frame;
    info.stack_depth = 1;
    const uint32_t node = *nodes_.Declare(info);
    watch_.AddNode(node);
    return node;
  };
  EXPECT_EQ(IdsOn(declare("forward/addmm", "aten::addmm", 32)), (Ids{1}));
  EXPECT_EQ(IdsOn(declare("forward/relu", "aten::relu", 32)), (Ids{}));
  EXPECT_EQ(IdsOn(declare("forward/mm", "aten::mm", 33)), (Ids{}));
  EXPECT_TRUE(watch_.snapshot()->On(1)->tests_execution);
  EXPECT_FALSE(watch_.snapshot()->On(1)->tests_values);
}

TEST_F(WatchTableTest, RefusesWhatMeansNothing) {
  v1::SetWatchpoint message;
  message.set_id(1);
  message.set_enabled(true);
  message.mutable_condition()->set_id("nan");
  message.mutable_selection()->add_regexes("(");
  EXPECT_EQ(watch_.Set(message).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace graphdbg::agent
