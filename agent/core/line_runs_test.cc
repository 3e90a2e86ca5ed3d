#include "agent/core/line_runs.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using Stack = std::vector<graphdbg_source_frame>;

graphdbg_source_frame At(const char* function, uint32_t line, int user = 1) {
  return {"model.py", line, function, user};
}

const graphdbg_source_frame kLibrary = At("_call_impl", 1, 0);
const graphdbg_source_frame kMain = At("main", 50);
// Line 3 of the model, and what it calls.
const Stack kLine = {At("Net.forward", 3), kMain};
const Stack kCalled = {At("Block.forward", 9), kLibrary, At("Net.forward", 3),
                       kMain};

conditions::NodeMatcher Lines(const std::vector<std::string>& sources) {
  conditions::NodeSelection selection;
  selection.sources = sources;
  return conditions::NodeMatcher(selection, {std::nullopt, /*ops_only=*/true});
}

class LineRunsTest : public testing::Test {
 protected:
  LineRunsTest() {
    EXPECT_TRUE(nodes_.DeclareScope("", "forward", "Net").ok());
    EXPECT_TRUE(nodes_.DeclareScope("", "forward/layers", "ModuleList").ok());
  }

  // The stack is innermost first.
  uint32_t Declare(const char* name, const Stack& stack) {
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name;
    info.kind = GRAPHDBG_OP;
    info.stack = stack.data();
    info.stack_depth = stack.size();
    return nodes_.Declare(info).value_or(0);
  }

  bool Begins(uint64_t order, const char* name, const Stack& stack = kLine,
              uint64_t step = 1) {
    return runs_.Begins(step, order, inputs_before_, Declare(name, stack));
  }

  uint32_t inputs_before_ = 0;

  NodeTable nodes_;
  const conditions::NodeMatcher lines_ = Lines({"model.py:3", "model.py:4"});
  LineRuns runs_{nodes_, lines_};
};

TEST_F(LineRunsTest, ExecutesItsOwnOpsAndThoseItCalls) {
  EXPECT_TRUE(runs_.Executes(Declare("forward/a", kLine)));
  EXPECT_TRUE(runs_.Executes(Declare("forward/block/b", kCalled)));
  EXPECT_FALSE(
      runs_.Executes(Declare("forward/c", {At("Net.forward", 5), kMain})));
  EXPECT_FALSE(runs_.Executes(Declare("forward/d", {})));
  // All of a file's lines are not a line to stop at.
  const conditions::NodeMatcher file = Lines({"model.py"});
  EXPECT_TRUE(
      LineRuns(nodes_, file).Executes(Declare("forward/block/b", kCalled)));
  const Stack other = {{"block.py", 9, "f", 1}, kMain};
  EXPECT_FALSE(LineRuns(nodes_, file).Executes(Declare("forward/e", other)));
}

TEST_F(LineRunsTest, OpsThatFollowEachOtherAreOneRun) {
  EXPECT_TRUE(Begins(1, "forward/flatten"));
  EXPECT_FALSE(Begins(2, "forward/fc/addmm"));
  EXPECT_FALSE(Begins(3, "forward/relu"));
}

// For example model(torch.randn(8, 6)).
TEST_F(LineRunsTest, InputsOfAModelThatTheLineCallsArePartOfItsRun) {
  EXPECT_TRUE(Begins(1, "forward/randn"));
  inputs_before_ = 2;
  EXPECT_FALSE(Begins(4, "forward/block/first/addmm", kCalled));
  inputs_before_ = 1;
  EXPECT_TRUE(Begins(7, "forward/relu"));
}

TEST_F(LineRunsTest, WhatTheLineCallsIsPartOfItsRun) {
  EXPECT_TRUE(Begins(1, "forward/block/first/addmm", kCalled));
  EXPECT_FALSE(Begins(2, "forward/block/second/addmm", kCalled));
  EXPECT_FALSE(Begins(3, "forward/relu"));
  EXPECT_TRUE(
      Begins(4, "forward/block/third/addmm",
             {At("Block.forward", 9), kLibrary, At("Net.forward", 4), kMain}));
}

TEST_F(LineRunsTest, ALoopOverLayersIsARunForEach) {
  EXPECT_TRUE(Begins(1, "forward/layers/0/addmm"));
  EXPECT_TRUE(Begins(2, "forward/layers/1/addmm"));
  EXPECT_FALSE(Begins(3, "forward/layers/1/relu"));
}

TEST_F(LineRunsTest, TheSameOpOrAnotherOpBetweenEndsARun) {
  EXPECT_TRUE(Begins(1, "forward/relu"));
  EXPECT_TRUE(Begins(2, "forward/relu"));
  EXPECT_TRUE(Begins(4, "forward/relu_1"));
}

TEST_F(LineRunsTest, AnotherLineOrStepBeginsARun) {
  const Stack other = {At("Net.forward", 4), kMain};
  EXPECT_TRUE(Begins(1, "forward/a"));
  EXPECT_TRUE(Begins(2, "forward/b", other));
  EXPECT_TRUE(Begins(3, "forward/c", other, 2));
}

}  // namespace
}  // namespace graphdbg::agent
