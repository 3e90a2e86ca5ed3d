#include "server/watch/watch_table.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "server/base/error.h"

namespace graphdbg::watch {
namespace {

using model::Watched;

class WatchTableTest : public testing::Test {
 protected:
  WatchTableTest() : table_(graph_) {
    Add({"forward/conv/conv2d", "forward/conv/weight", "forward/log"});
  }

  void Add(const std::vector<std::string>& names) {
    graph::GraphPatch patch;
    for (const std::string& name : names) {
      graph::NodeRecord record;
      record.id = ++last_id_;
      record.name = name;
      if (name.ends_with("weight")) record.category = model::Category::kWeight;
      patch.nodes.push_back(record);
    }
    ASSERT_TRUE(graph_.Apply(patch, ids_).ok());
  }

  static model::WatchpointSpec Nan() {
    model::WatchpointSpec spec;
    spec.condition.id = "nan";
    return spec;
  }

  uint64_t Count(const model::WatchpointSpec& spec) {
    return table_.Preview(spec, /*on_accelerator=*/false)->node_count;
  }

  // Nodes with all that selections ask for.
  void AddOps() {
    graph::GraphPatch patch;
    const auto add = [&](const char* name, const char* type, uint32_t line,
                         DType dtype) {
      graph::NodeRecord record;
      record.id = ++last_id_;
      record.name = name;
      record.op_type = type;
      record.stack = {{"/home/a/model.py", line, "forward", "", true},
                      {"/lib/module.py", 8, "_call_impl", "", false},
                      {"/home/a/model.py", 9, "main", "", true}};
      record.outputs = {{0, {dtype, {4, 8}}}};
      patch.nodes.push_back(record);
    };
    add("net/fc1/addmm", "aten::addmm", 5, DType::kFloat32);
    add("net/fc2/addmm", "aten::addmm", 6, DType::kFloat16);
    add("net/relu", "aten::relu", 6, DType::kFloat16);
    ASSERT_TRUE(graph_.Apply(patch, ids_).ok());
    table_.MatchNewNodes();
  }

  Watched OfScope(const std::string& name) {
    return table_.WatchedOf({true, *graph_.FindScope("", name)});
  }
  Watched OfNode(const std::string& name) {
    return table_.WatchedOf({false, graph_.FindNode(name)});
  }

  graph::GraphStore graph_;
  graph::AgentIds ids_;
  uint32_t last_id_ = 0;
  WatchTable table_;
};

TEST_F(WatchTableTest, NodesAreCountedWithoutAWatchpoint) {
  model::WatchpointSpec spec = Nan();
  EXPECT_EQ(Count(spec), 3u);
  spec.selection.nodes = {"forward/log"};
  spec.selection.scopes = {"forward/conv/"};
  spec.selection.patterns = {"forward/**"};
  EXPECT_EQ(Count(spec), 3u);
  // The threshold is missing.
  spec = {};
  spec.condition.id = "weight_too_large";
  EXPECT_EQ(Count(spec), 1u);
  spec.selection.nodes = {"nobody"};
  EXPECT_EQ(FieldOf(table_.Preview(spec, false).status()), "nodes[0]");
  spec.condition.id = "no such condition";
  EXPECT_FALSE(table_.Preview(spec, false).ok());
  EXPECT_TRUE(table_.Ids().empty());
  EXPECT_EQ(OfNode("forward/log"), Watched::kNone);
}

TEST_F(WatchTableTest, ConditionsAboutWeightsCoverWeightsAlone) {
  model::WatchpointSpec spec;
  spec.condition.id = "weight_overflow";
  EXPECT_EQ(table_.NodeCountOf(*table_.Add(spec)), 1u);
  EXPECT_EQ(OfNode("forward/conv/weight"), Watched::kAll);
  EXPECT_EQ(OfScope("forward/conv"), Watched::kSome);
  spec.selection.nodes = {"forward/conv/weight", "forward/log"};
  const absl::Status status = table_.Add(spec).status();
  EXPECT_EQ(FieldOf(status), "nodes[1]");
}

TEST_F(WatchTableTest, NarrowsAndExcludes) {
  AddOps();
  model::WatchpointSpec spec = Nan();
  spec.selection.scopes = {"net"};
  spec.selection.op_types = {"addmm"};
  EXPECT_EQ(table_.NodeCountOf(*table_.Add(spec)), 2u);
  EXPECT_EQ(OfScope("net/fc1"), Watched::kAll);
  EXPECT_EQ(OfNode("net/relu"), Watched::kNone);
  spec.selection.sources = {"model.py:6"};
  EXPECT_EQ(Count(spec), 1u);
  spec.selection.op_types = {};
  EXPECT_EQ(Count(spec), 2u);
  spec.selection.exclude.regexes = {"FC2"};
  EXPECT_EQ(Count(spec), 1u);
  spec.selection = {};
  spec.selection.nodes = {"net/fc1/addmm", "net/relu"};
  spec.selection.op_types = {"relu"};
  EXPECT_EQ(table_.NodeCountOf(*table_.Add(spec)), 1u);
}

TEST_F(WatchTableTest, ALineToStopAtCoversWhatItCalls) {
  AddOps();
  model::WatchpointSpec spec = Nan();
  spec.selection.sources = {"model.py:9"};
  EXPECT_EQ(Count(spec), 0u);
  spec.condition.id = "executed";
  EXPECT_EQ(Count(spec), 3u);
  spec.selection.sources = {"module.py:8"};
  EXPECT_EQ(Count(spec), 0u);
}

TEST_F(WatchTableTest, FollowsTheTypesOfTensors) {
  AddOps();
  model::WatchpointSpec spec = Nan();
  spec.selection.scopes = {"net"};
  spec.selection.dtypes = {DType::kFloat16};
  const uint32_t id = *table_.Add(spec);
  EXPECT_EQ(table_.NodeCountOf(id), 2u);
  graph::GraphPatch patch;
  graph::NodeRecord record;
  record.id = last_id_;
  record.name = "net/relu";
  record.op_type = "aten::relu";
  record.outputs = {{0, {DType::kFloat32, {4, 8}}}};
  patch.nodes = {record};
  graph::GraphChanges changes;
  ASSERT_TRUE(graph_.Apply(patch, ids_, &changes).ok());
  EXPECT_EQ(table_.MatchAgain(changes.nodes), std::vector<uint32_t>{id});
  EXPECT_EQ(table_.NodeCountOf(id), 1u);
  EXPECT_EQ(OfNode("net/relu"), Watched::kNone);
  EXPECT_TRUE(table_.MatchAgain(changes.nodes).empty());
}

TEST_F(WatchTableTest, PreviewsTheSizeAndTheCost) {
  AddOps();
  model::WatchpointSpec spec = Nan();
  spec.selection.scopes = {"net"};
  spec.selection.dtypes = {DType::kFloat16};
  const model::SelectionPreview preview = *table_.Preview(spec, false);
  EXPECT_EQ(preview.node_count, 2u);
  EXPECT_EQ(preview.tensors, 2u);
  EXPECT_EQ(preview.bytes, 2u * 4 * 8 * 2);
  EXPECT_GT(preview.seconds_per_step, 0);
  EXPECT_EQ(preview.examples,
            (std::vector<std::string>{"net/fc2/addmm", "net/relu"}));
  // Nothing is read to know that an op was executed.
  spec.condition.id = "executed";
  EXPECT_LT(table_.Preview(spec, false)->seconds_per_step,
            preview.seconds_per_step);
}

TEST_F(WatchTableTest, ConditionsOnExecutionsCoverOpsOnly) {
  model::WatchpointSpec spec;
  spec.condition.id = "executed";
  graph::GraphPatch patch;
  graph::NodeRecord record;
  record.id = ++last_id_;
  record.name = "forward/bias";
  record.kind = model::NodeKind::kParameter;
  patch.nodes = {record};
  ASSERT_TRUE(graph_.Apply(patch, ids_).ok());
  EXPECT_EQ(Count(spec), 3u);
  spec.selection.nodes = {"forward/bias"};
  EXPECT_EQ(FieldOf(table_.Add(spec).status()), "nodes[0]");
}

TEST_F(WatchTableTest, CoversEverythingIfNothingIsSelected) {
  EXPECT_EQ(OfScope(""), Watched::kNone);
  const uint32_t id = *table_.Add(Nan());
  EXPECT_EQ(table_.NodeCountOf(id), 3u);
  EXPECT_EQ(OfScope(""), Watched::kAll);
}

TEST_F(WatchTableTest, TellsAllSomeAndNone) {
  auto spec = Nan();
  spec.selection.nodes = {"forward/conv/weight"};
  spec.selection.scopes = {"backward/"};
  const uint32_t id = *table_.Add(spec);
  EXPECT_EQ(OfNode("forward/conv/weight"), Watched::kAll);
  EXPECT_EQ(OfNode("forward/log"), Watched::kNone);
  EXPECT_EQ(OfScope("forward/conv"), Watched::kSome);
  EXPECT_EQ(OfScope("forward"), Watched::kSome);
  // Later nodes are matched when they are added.
  Add({"backward/log/neg"});
  EXPECT_EQ(table_.MatchNewNodes(), std::vector<uint32_t>{id});
  EXPECT_EQ(OfScope("backward"), Watched::kAll);
  EXPECT_EQ(table_.NodeCountOf(id), 2u);
  EXPECT_TRUE(table_.Covers(id, graph_.FindNode("backward/log/neg")));
}

TEST_F(WatchTableTest, CountsOnlyWatchpointsThatAreOn) {
  const uint32_t one = *table_.Add(Nan());
  const uint32_t two = *table_.Add(Nan());
  model::WatchpointChange off;
  off.enabled = false;
  ASSERT_TRUE(table_.Change(one, off).ok());
  EXPECT_EQ(OfScope(""), Watched::kAll);
  ASSERT_TRUE(table_.Remove(two).ok());
  EXPECT_EQ(OfScope(""), Watched::kNone);
  // A disabled watchpoint covers nodes but does not watch them.
  EXPECT_EQ(table_.NodeCountOf(one), 3u);
}

TEST_F(WatchTableTest, SelectsByPatternAndCategory) {
  auto spec = Nan();
  spec.selection.patterns = {"forward/*"};
  EXPECT_EQ(table_.NodeCountOf(*table_.Add(spec)), 1u);
  spec.selection.patterns = {"**/conv*"};
  spec.selection.categories = {model::Category::kWeight};
  EXPECT_EQ(table_.NodeCountOf(*table_.Add(spec)), 2u);
}

TEST_F(WatchTableTest, NeverUsesAnIdAgain) {
  EXPECT_EQ(*table_.Add(Nan()), 1u);
  ASSERT_TRUE(table_.Remove(1).ok());
  EXPECT_EQ(*table_.Add(Nan()), 2u);
  EXPECT_EQ(ReasonOf(table_.Remove(1)), "unknown_watchpoint");
  EXPECT_EQ(table_.Ids(), std::vector<uint32_t>{2});
  EXPECT_EQ(table_.RemovedIds(), std::vector<uint32_t>{1});
}

TEST_F(WatchTableTest, RemembersWhatAHitOfAnEarlierRevisionMeant) {
  model::WatchpointSpec spec;
  spec.condition = {"max_gt", {{"value", 1.0}}};
  const uint32_t id = *table_.Add(spec);
  EXPECT_EQ(table_.RevisionOf(id), 1u);
  model::WatchpointChange change;
  change.condition = model::Condition{"max_gt", {{"value", 2.0}}};
  ASSERT_TRUE(table_.Change(id, change).ok());
  EXPECT_EQ(table_.RevisionOf(id), 2u);
  ASSERT_TRUE(table_.Remove(id).ok());
  EXPECT_EQ(table_.ConditionAt(id, 1)->params.at("value"), 1.0);
  EXPECT_EQ(table_.ConditionAt(id, 2)->params.at("value"), 2.0);
  EXPECT_EQ(table_.ConditionAt(id, 3), nullptr);
  EXPECT_EQ(table_.ConditionAt(id + 1, 1), nullptr);
}

TEST_F(WatchTableTest, ReinstatesARemovedWatchpointAsItWas) {
  const uint32_t id = *table_.Add(Nan());
  const uint64_t nodes = table_.NodeCountOf(id);
  ASSERT_TRUE(table_.Remove(id).ok());
  table_.Reinstate(id);
  EXPECT_TRUE(table_.Check(id).ok());
  EXPECT_EQ(table_.NodeCountOf(id), nodes);
  EXPECT_EQ(table_.RevisionOf(id), 3u);
}

TEST_F(WatchTableTest, PrunesRevisionsThatNoHitRefersTo) {
  const uint32_t id = *table_.Add(Nan());
  table_.MarkMet(id, 1);
  const uint32_t changes = WatchTable::kSpareRevisions + 5;
  for (uint32_t i = 0; i < changes; ++i) {
    ASSERT_TRUE(table_.Change(id, {}).ok());
  }
  EXPECT_EQ(table_.Prune(id), (std::vector<uint32_t>{2, 3, 4, 5}));
  EXPECT_NE(table_.ConditionAt(id, 1), nullptr);
  EXPECT_EQ(table_.ConditionAt(id, 5), nullptr);
  EXPECT_NE(table_.ConditionAt(id, 6), nullptr);
  EXPECT_TRUE(table_.Prune(id).empty());
}

TEST_F(WatchTableTest, NamesTheFieldThatIsWrong) {
  auto field_of = [&](const model::WatchpointSpec& spec) {
    const absl::Status status = table_.Add(spec).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return FieldOf(status);
  };
  model::WatchpointSpec spec;
  spec.condition.id = "no_such";
  EXPECT_EQ(field_of(spec), "condition.id");
  spec.condition.id = "max_gt";
  EXPECT_EQ(field_of(spec), "condition.params.value");
  spec.condition.params["value"] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(field_of(spec), "condition.params.value");
  spec = Nan();
  spec.selection.nodes = {"forward/log", "forward/unknown"};
  EXPECT_EQ(field_of(spec), "nodes[1]");
  spec = Nan();
  spec.selection.scopes = {"a", ""};
  EXPECT_EQ(field_of(spec), "scopes[1]");
  spec = Nan();
  spec.selection.patterns.assign(1'000, "*");
  EXPECT_EQ(field_of(spec), "patterns");
  // Scopes may contain only nodes that are not known yet.
  spec = Nan();
  spec.selection.scopes = {"optimizer"};
  EXPECT_TRUE(table_.Add(spec).ok());
}

TEST_F(WatchTableTest, LeavesAWatchpointAsItWasIfAChangeIsWrong) {
  const uint32_t id = *table_.Add(Nan());
  model::WatchpointChange change;
  change.condition = model::Condition{"no_such", {}};
  EXPECT_EQ(FieldOf(table_.Change(id, change)), "condition.id");
  EXPECT_EQ(table_.SpecOf(id).condition.id, "nan");
  EXPECT_EQ(table_.RevisionOf(id), 1u);
}

TEST_F(WatchTableTest, ShowsWhatRanksCannotCheck) {
  const uint32_t id = *table_.Add(Nan());
  EXPECT_TRUE(table_.SetError(id, 1, 1, "no such op"));
  EXPECT_FALSE(table_.SetError(id, 1, 1, "no such op"));
  EXPECT_EQ(table_.ErrorOf(id), "rank 1: no such op");
  // An answer to an earlier revision does not apply to this one.
  ASSERT_TRUE(table_.Change(id, {}).ok());
  EXPECT_EQ(table_.ErrorOf(id), "");
  EXPECT_FALSE(table_.SetError(id, 1, 1, "late"));
  EXPECT_FALSE(table_.SetError(99, 1, 1, "nobody"));
}

TEST_F(WatchTableTest, LimitsTheBytesOfPatterns) {
  model::WatchpointSpec spec = Nan();
  spec.selection.patterns = {std::string(1'025, 'a')};
  EXPECT_EQ(FieldOf(table_.Add(spec).status()), "patterns[0]");
  spec.selection.patterns.assign(5, std::string(1'000, 'a'));
  absl::Status refused = table_.Add(spec).status();
  EXPECT_EQ(ReasonOf(refused), "invalid_watchpoint");
  EXPECT_EQ(FieldOf(refused), "patterns");
  EXPECT_EQ(table_.Preview(spec, false).status(), refused);
  spec.selection.patterns.pop_back();
  EXPECT_TRUE(table_.Add(spec).ok());
}

TEST_F(WatchTableTest, LimitsTheBytesOfThePatternsOfAllWatchpoints) {
  model::WatchpointSpec spec = Nan();
  spec.selection.patterns.assign(4, std::string(1'024, 'a'));
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(table_.Add(spec).ok());
  EXPECT_EQ(FieldOf(table_.Add(spec).status()), "patterns");
  // Replacing patterns of the same length, and selections without patterns,
  // remain possible.
  model::WatchpointChange change;
  change.selection = spec.selection;
  EXPECT_TRUE(table_.Change(1, change).ok());
  EXPECT_TRUE(table_.Add(Nan()).ok());
  ASSERT_TRUE(table_.Remove(2).ok());
  EXPECT_TRUE(table_.Add(spec).ok());
}

// Four patterns of 1,000 bytes and 20 MB of names.
TEST_F(WatchTableTest, LimitsTheStepsThatMatchingTakes) {
  std::vector<std::string> names;
  for (int i = 0; i < 5'000; ++i) {
    names.push_back(std::to_string(i) + std::string(4'000, 'a'));
  }
  Add(names);
  model::WatchpointSpec spec = Nan();
  std::string stars;
  while (stars.size() < 1'000) stars += "**a";
  spec.selection.patterns.assign(4, stars + "b");
  const absl::Status refused = table_.Preview(spec, false).status();
  EXPECT_EQ(FieldOf(refused), "patterns");
  EXPECT_EQ(ReasonOf(refused), "invalid_watchpoint");
  spec.selection.patterns = {"**b"};
  EXPECT_EQ(Count(spec), 0u);
}

TEST_F(WatchTableTest, RestoresPatternsThatAnEarlierVersionAccepted) {
  model::WatchpointSpec spec = Nan();
  spec.selection.patterns.assign(64, std::string(1'024, 'a'));
  spec.selection.patterns.push_back("**/log");
  ASSERT_TRUE(table_.Restore(1, 1, &spec).ok());
  EXPECT_EQ(table_.NodeCountOf(1), 1u);
}

}  // namespace
}  // namespace graphdbg::watch
