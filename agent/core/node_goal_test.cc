#include "agent/core/node_goal.h"

#include <string>

#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

class NodeGoalTest : public testing::Test {
 protected:
  // Line 0: it has no line.
  uint32_t Declare(const std::string& name, uint32_t line = 0,
                   uint32_t forward_node = 0,
                   const char* function = "Net.forward") {
    graphdbg_source_frame frame = {};
    frame.file = "model.py";
    frame.function = function;
    frame.line = line;
    frame.user = 1;
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name.c_str();
    info.kind = GRAPHDBG_OP;
    info.forward_node = forward_node;
    info.stack = &frame;
    info.stack_depth = line == 0 ? 0 : 1;
    return nodes_.Declare(info).value_or(0);
  }

  NodeGoal Within(const std::string& scope) {
    command_.set_within(scope);
    return NodeGoal(command_, 0, nodes_);
  }
  NodeGoal Outside(const std::string& scope) {
    command_.set_outside(scope);
    return NodeGoal(command_, 0, nodes_);
  }
  NodeGoal OtherLineThan(uint32_t from) {
    command_.set_other_line(true);
    return NodeGoal(command_, from, nodes_);
  }

  NodeTable nodes_;
  v1::Command::NextNode command_;
};

TEST_F(NodeGoalTest, AnyNodeUnlessItIsTold) {
  const NodeGoal goal(command_, 0, nodes_);
  EXPECT_FALSE(goal.passes_over());
  EXPECT_TRUE(goal.Includes(Declare("forward/a")));
}

TEST_F(NodeGoalTest, WithinPassesOverInnerScopesOnly) {
  const NodeGoal goal = Within("forward/block");
  EXPECT_TRUE(goal.passes_over());
  EXPECT_FALSE(goal.Includes(Declare("forward/block/fc/addmm")));
  EXPECT_FALSE(goal.Includes(Declare("forward/block/fc/act/relu")));
  EXPECT_TRUE(goal.Includes(Declare("forward/block/relu")));
  EXPECT_TRUE(goal.Includes(Declare("forward/block2/fc/addmm")));
  EXPECT_TRUE(goal.Includes(Declare("forward/add")));
  EXPECT_TRUE(goal.Includes(Declare("backward/block/fc/addmm")));
}

TEST_F(NodeGoalTest, OutsidePassesOverTheScopeAsWell) {
  const NodeGoal goal = Outside("backward/block");
  EXPECT_FALSE(goal.Includes(Declare("backward/block/relu")));
  EXPECT_FALSE(goal.Includes(Declare("backward/block/fc/addmm")));
  EXPECT_TRUE(goal.Includes(Declare("backward/block2/relu")));
  EXPECT_TRUE(goal.Includes(Declare("backward/add")));
  EXPECT_TRUE(goal.Includes(Declare("top")));
}

TEST_F(NodeGoalTest, TheTopIsAScope) {
  const uint32_t top = Declare("top");
  const uint32_t inner = Declare("forward/a");
  EXPECT_TRUE(Within("").Includes(top));
  EXPECT_FALSE(Within("").Includes(inner));
  EXPECT_FALSE(Outside("").Includes(top));
  EXPECT_FALSE(Outside("").Includes(inner));
}

TEST_F(NodeGoalTest, OtherLinePassesOverTheRestOfTheLine) {
  const uint32_t from = Declare("forward/a", 7);
  const NodeGoal goal = OtherLineThan(from);
  EXPECT_FALSE(goal.Includes(from));
  EXPECT_FALSE(goal.Includes(Declare("forward/b", 7)));
  EXPECT_TRUE(goal.Includes(Declare("forward/c", 8)));
  // A backward op has its forward op's line.
  EXPECT_FALSE(goal.Includes(Declare("backward/a", 70, from)));
  EXPECT_TRUE(goal.Includes(Declare("forward/none")));
}

TEST_F(NodeGoalTest, WithoutALineToLeaveEveryLineIsAnother) {
  const uint32_t none = Declare("forward/none");
  const uint32_t node = Declare("forward/a", 7);
  for (const uint32_t from : {uint32_t{0}, none}) {
    EXPECT_TRUE(OtherLineThan(from).passes_over());
    EXPECT_TRUE(OtherLineThan(from).Includes(node));
    EXPECT_TRUE(OtherLineThan(from).Includes(none));
  }
}

TEST_F(NodeGoalTest, ScopeAndLineBothCount) {
  const uint32_t from = Declare("forward/a", 7);
  command_.set_within("forward");
  const NodeGoal goal = OtherLineThan(from);
  EXPECT_FALSE(goal.Includes(Declare("forward/b", 7)));
  EXPECT_FALSE(goal.Includes(Declare("forward/fc/b", 7)));
  EXPECT_FALSE(goal.Includes(Declare("forward/fc/none")));
  EXPECT_TRUE(goal.Includes(Declare("forward/d", 8)));
}

TEST_F(NodeGoalTest, ALineThatCallsALibrarysModuleIsALineOfItsOwn) {
  const uint32_t from = Declare("forward/a", 7);
  command_.set_within("forward");
  EXPECT_FALSE(NodeGoal(command_, from, nodes_)
                   .Includes(Declare("forward/fc/addmm", 8)));
  const NodeGoal goal = OtherLineThan(from);
  EXPECT_TRUE(goal.Includes(Declare("forward/fc/mm", 8)));
  // Without the frame that has called it, nothing is known of a module.
  EXPECT_FALSE(
      goal.Includes(Declare("forward/block/mm", 30, 0, "Block.forward")));
  EXPECT_TRUE(goal.Includes(Declare("backward/mm", 8)));
  command_.set_within("backward");
  EXPECT_FALSE(
      NodeGoal(command_, from, nodes_).Includes(Declare("backward/fc/mm", 8)));
}

}  // namespace
}  // namespace graphdbg::agent
