#include "server/watch/recommended.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace graphdbg::watch {
namespace {

using Strings = std::set<std::string>;

class RecommendedTest : public testing::Test {
 protected:
  void Add(const std::string& name, model::Category category) {
    graph::NodeRecord record;
    record.id = static_cast<uint32_t>(patch_.nodes.size() + 1);
    record.name = name;
    record.category = category;
    patch_.nodes.push_back(record);
  }
  void Build() {
    using model::Category;
    Add("forward/fc/weight", Category::kWeight);
    Add("forward/fc/addmm", Category::kActivation);
    Add("forward/act/relu", Category::kActivation);
    Add("forward/act/relu_1", Category::kActivation);
    Add("forward/act/leaky_relu", Category::kActivation);
    Add("relu_", Category::kActivation);
    Add("Default/net/ReLU-op12", Category::kActivation);
    Add("forward/fc/bias", Category::kWeight);
    Add("forward/zeros", Category::kActivation);
    Add("backward/act/tanh_backward", Category::kGradient);
    Add("backward/mm_1", Category::kGradient);
    Add("backward/fc/new_zeros", Category::kGradient);
    Add("optimizer/SGD/zeros", Category::kOptimizer);
    graph::AgentIds ids;
    ASSERT_TRUE(graph_.Apply(patch_, ids).ok());
  }
  // The nodes that this watchpoint of the set covers.
  Strings Covered(const std::string& condition, const std::string& part = "") {
    WatchTable table(graph_);
    Strings names;
    for (const auto& spec : RecommendedSet({.ascend = true})) {
      const auto& patterns = spec.selection.patterns;
      const bool is_it =
          spec.condition.id == condition &&
          (part.empty() || patterns[0].find(part) != std::string::npos);
      if (!is_it) continue;
      const auto id = table.Add(spec);
      EXPECT_TRUE(id.ok()) << id.status();
      for (graph::NodeIndex n = 0; n < graph_.node_count(); ++n) {
        if (table.Covers(*id, n)) names.insert(graph_.node(n).name);
      }
    }
    return names;
  }

  graph::GraphPatch patch_;
  graph::GraphStore graph_;
};

TEST_F(RecommendedTest, AllAreWatchpointsAndDiffer) {
  WatchTable table(graph_);
  const auto set = RecommendedSet({.ascend = true});
  for (size_t i = 0; i < set.size(); ++i) {
    EXPECT_EQ(FindRecommended(table, set[i]), 0u);
    const auto id = table.Add(set[i]);
    ASSERT_TRUE(id.ok()) << set[i].condition.id << ": " << id.status();
    EXPECT_EQ(FindRecommended(table, set[i]), *id);
  }
  EXPECT_EQ(RecommendedSet({}).size() + 1, set.size());
  EXPECT_EQ(RecommendedSet({.ascend = true, .expressions = false}).size() + 1,
            set.size());
}

TEST_F(RecommendedTest, CoverWhatTheyAreAbout) {
  Build();
  EXPECT_EQ(Covered("tensor_overflow").size(), graph_.node_count());
  EXPECT_EQ(Covered("weight_change_too_large"), Strings{"forward/fc/weight"});
  EXPECT_EQ(Covered("weight_initialization"), Strings{"forward/fc/weight"});
  EXPECT_EQ(Covered("expression"), Strings{"forward/fc/weight"});
  EXPECT_EQ(Covered("gradient_vanishing"),
            (Strings{"backward/act/tanh_backward", "backward/mm_1"}));
  EXPECT_EQ(Covered("activation_range", "relu"),
            (Strings{"forward/act/relu", "forward/act/relu_1",
                     "Default/net/ReLU-op12"}));
  EXPECT_EQ(Covered("activation_range", "tanh"), Strings{});
  const Strings zero = Covered("tensor_all_zero");
  for (const char* name : {"forward/fc/addmm", "forward/act/relu_1",
                           "Default/net/ReLU-op12", "backward/mm_1"}) {
    EXPECT_EQ(zero.count(name), 1u) << name;
  }
  for (const char* name : {"forward/fc/weight", "forward/zeros",
                           "backward/fc/new_zeros", "optimizer/SGD/zeros"}) {
    EXPECT_EQ(zero.count(name), 0u) << name;
  }
}

TEST_F(RecommendedTest, StayThemselvesWhenTheirValuesAreChanged) {
  WatchTable table(graph_);
  auto spec = RecommendedSet({})[3];
  const auto id = table.Add(spec);
  model::WatchpointChange change;
  change.condition = spec.condition;
  change.condition->params["abs_mean_lt"] = 1e-6;
  change.enabled = false;
  ASSERT_TRUE(table.Change(*id, change).ok());
  EXPECT_EQ(FindRecommended(table, spec), *id);
  ASSERT_TRUE(table.Remove(*id).ok());
  EXPECT_EQ(FindRecommended(table, spec), 0u);
}

}  // namespace
}  // namespace graphdbg::watch
