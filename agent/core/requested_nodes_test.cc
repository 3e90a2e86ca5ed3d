#include "agent/core/requested_nodes.h"

#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

class RequestedNodesTest : public testing::Test {
 protected:
  RequestedNodesTest() {
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = "a";
    info.kind = GRAPHDBG_OP;
    node_ = *nodes_.Declare(info);
  }

  bool requested() const { return nodes_.Facts(node_)->has(kRequested); }
  void Resume(uint64_t pause, bool is_there) {
    requests_.Resume(pause, [=](uint32_t) { return is_there; });
  }

  NodeTable nodes_;
  RequestedNodes requests_{&nodes_};
  uint32_t node_ = 0;
};

TEST_F(RequestedNodesTest, ARequestHoldsUntilTheEndOfTheNextStop) {
  EXPECT_FALSE(requested());
  requests_.Add(node_, 1);
  Resume(1, false);
  EXPECT_TRUE(requested());
  Resume(2, true);
  EXPECT_FALSE(requested());
}

TEST_F(RequestedNodesTest, WhoAsksAtEachStopKeepsIt) {
  for (uint64_t pause = 1; pause < 4; ++pause) {
    requests_.Add(node_, pause);
    Resume(pause, true);
    EXPECT_TRUE(requested());
    EXPECT_TRUE(requests_.to_catch().empty());
  }
}

TEST_F(RequestedNodesTest, ACatchHoldsUntilTheValueWasThere) {
  requests_.Catch(node_, 1);
  EXPECT_EQ(requests_.to_catch().count(node_), 1u);
  // The value of the pause at which it was requested does not count.
  Resume(1, true);
  Resume(2, false);
  EXPECT_EQ(requests_.to_catch().count(node_), 1u);
  EXPECT_TRUE(requested());
  requests_.Add(node_, 3);
  Resume(3, true);
  EXPECT_TRUE(requests_.to_catch().empty());
  EXPECT_TRUE(requested());
  Resume(4, true);
  EXPECT_FALSE(requested());
}

TEST_F(RequestedNodesTest, NodesThatDoNotExistAreNotRequested) {
  requests_.Catch(0, 1);
  requests_.Catch(77, 1);
  EXPECT_TRUE(requests_.to_catch().empty());
  EXPECT_FALSE(nodes_.Facts(77)->has(kRequested));
}

}  // namespace
}  // namespace graphdbg::agent
