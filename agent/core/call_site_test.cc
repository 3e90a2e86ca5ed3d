#include "agent/core/call_site.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using Relation = CallSite::Relation;

// A frame of the user's code.
graphdbg_source_frame At(const char* function, uint32_t line, int user = 1) {
  return {"model.py", line, function, user};
}

const graphdbg_source_frame kMain = At("main", 50);

class CallSiteTest : public testing::Test {
 protected:
  // The stack is innermost first.
  uint32_t Declare(const std::string& name,
                   const std::vector<graphdbg_source_frame>& stack) {
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name.c_str();
    info.kind = GRAPHDBG_OP;
    info.stack = stack.data();
    info.stack_depth = stack.size();
    return nodes_.Declare(info).value_or(0);
  }

  void DeclareScope(const std::string& name, const std::string& type) {
    ASSERT_TRUE(nodes_.DeclareScope("", name, type).ok());
  }

  NodeTable nodes_;
};

TEST_F(CallSiteTest, ALineExecutesWhatItCalls) {
  const uint32_t from = Declare("forward/a", {At("Net.forward", 7), kMain});
  const CallSite site(nodes_, from, "forward");
  EXPECT_EQ(site.RelationOf(from), Relation::kSameLine);
  EXPECT_EQ(
      site.RelationOf(Declare("forward/block/a",
                              {At("Block.forward", 30), At("_call_impl", 1, 0),
                               At("Net.forward", 7), kMain})),
      Relation::kSameLine);
  EXPECT_EQ(
      site.RelationOf(Declare("forward/b", {At("Net.forward", 8), kMain})),
      Relation::kOtherLine);
  EXPECT_EQ(
      site.RelationOf(Declare("forward/block/b",
                              {At("Block.forward", 30), At("_call_impl", 1, 0),
                               At("Net.forward", 8), kMain})),
      Relation::kOtherLine);
  EXPECT_EQ(site.RelationOf(Declare("forward/loss", {kMain})),
            Relation::kOtherLine);
}

TEST_F(CallSiteTest, TheFunctionIsThatOfTheScope) {
  const uint32_t from =
      Declare("forward/block/a",
              {At("Block.forward", 30), At("Net.forward", 7), kMain});
  const uint32_t rest =
      Declare("forward/block/b",
              {At("Block.forward", 31), At("Net.forward", 7), kMain});
  EXPECT_EQ(CallSite(nodes_, from, "forward").RelationOf(rest),
            Relation::kSameLine);
  EXPECT_EQ(CallSite(nodes_, from, "forward/block").RelationOf(rest),
            Relation::kOtherLine);
}

TEST_F(CallSiteTest, AnotherModuleOfTheClassHasACallOfItsOwn) {
  const std::vector<graphdbg_source_frame> stack = {
      At("Block.forward", 30), At("Net.forward", 7), kMain};
  const CallSite site(nodes_, Declare("forward/blocks/0/fc/a", stack),
                      "forward/blocks/0");
  EXPECT_EQ(site.RelationOf(Declare("forward/blocks/0/fc/b", stack)),
            Relation::kSameLine);
  EXPECT_EQ(site.RelationOf(Declare("forward/blocks/1/fc/a", stack)),
            Relation::kOtherLine);
}

TEST_F(CallSiteTest, AFunctionOfTheModuleHasLinesOfItsOwn) {
  const uint32_t from =
      Declare("forward/a", {At("attention", 3), At("Net.forward", 7), kMain});
  const CallSite site(nodes_, from, "forward");
  EXPECT_EQ(
      site.RelationOf(Declare(
          "forward/b", {At("attention", 4), At("Net.forward", 7), kMain})),
      Relation::kOtherLine);
  EXPECT_EQ(
      site.RelationOf(Declare("forward/c", {At("scale", 9), At("attention", 3),
                                            At("Net.forward", 7), kMain})),
      Relation::kSameLine);
}

TEST_F(CallSiteTest, EachRoundOfALoopOverModulesCounts) {
  DeclareScope("forward", "Net");
  DeclareScope("forward/stages", "ModuleList");
  DeclareScope("forward/stages/0", "ModuleList");
  for (const char* block : {"0/0", "0/1", "1/0"}) {
    DeclareScope(std::string("forward/stages/") + block, "Block");
  }
  const std::vector<graphdbg_source_frame> stack = {
      At("Block.forward", 30), At("Net.forward", 7), kMain};
  const uint32_t from = Declare("forward/stages/0/0/a", stack);
  const CallSite site(nodes_, from, "forward");
  EXPECT_EQ(site.RelationOf(Declare("forward/stages/0/0/fc/a", stack)),
            Relation::kSameLine);
  EXPECT_EQ(site.RelationOf(Declare("forward/stages/0/1/a", stack)),
            Relation::kOtherLine);
  EXPECT_EQ(site.RelationOf(Declare("forward/stages/1/0/a", stack)),
            Relation::kOtherLine);
  // A list inside a module that the line calls is the module's concern.
  EXPECT_EQ(CallSite(nodes_, Declare("forward/b/list/0/a", stack), "forward")
                .RelationOf(Declare("forward/b/list/1/a", stack)),
            Relation::kSameLine);
}

TEST_F(CallSiteTest, OtherThreadsAndNodesWithoutStackAreUnrelated) {
  const uint32_t from = Declare("forward/a", {At("Net.forward", 7), kMain});
  const CallSite site(nodes_, from, "forward");
  EXPECT_EQ(site.RelationOf(Declare("forward/none", {})), Relation::kUnrelated);
  EXPECT_EQ(site.RelationOf(Declare(
                "forward/worker", {At("Net.forward", 7), At("bootstrap", 1)})),
            Relation::kUnrelated);
  EXPECT_EQ(
      CallSite(nodes_, Declare("forward/no", {}), "forward").RelationOf(from),
      Relation::kUnrelated);
}

TEST_F(CallSiteTest, OuterFramesMayBeMissing) {
  std::vector<graphdbg_source_frame> stack = {At("Net.forward", 7), kMain};
  while (stack.size() < 32) stack.push_back(At("launcher", 1, 0));
  const CallSite site(nodes_, Declare("forward/a", stack), "forward");
  std::vector<graphdbg_source_frame> deeper = {At("Block.forward", 30)};
  deeper.insert(deeper.end(), stack.begin(), stack.end() - 1);
  EXPECT_EQ(site.RelationOf(Declare("forward/block/a", deeper)),
            Relation::kSameLine);
  deeper[1].line = 8;
  EXPECT_EQ(site.RelationOf(Declare("forward/block/b", deeper)),
            Relation::kOtherLine);
}

}  // namespace
}  // namespace graphdbg::agent
