#include "server/graph/node_ids.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace graphdbg::graph {
namespace {

constexpr uint32_t kPage = NodeIdPage::kSize;

void Fill(NodeIds& ids, uint32_t count, NodeIdPages* shared,
          NodeIndex offset = 0) {
  for (uint32_t id = 1; id <= count; ++id) ids.Add(id, offset + id, shared);
}

TEST(NodeIdsTest, FindsWhatWasAdded) {
  NodeIds ids;
  EXPECT_TRUE(ids.empty());
  ids.Add(1, 10);
  ids.Add(3 * kPage, 30);
  EXPECT_EQ(ids.Find(1), 10u);
  EXPECT_EQ(ids.Find(3 * kPage), 30u);
  for (uint32_t id : {0u, 2u, kPage + 1, 3 * kPage + 1, UINT32_MAX}) {
    EXPECT_EQ(ids.Find(id), kNoNode) << id;
  }
  EXPECT_EQ(ids.size(), 2u);
}

TEST(NodeIdsTest, AnIdKeepsItsNode) {
  NodeIds ids;
  ids.Add(7, 1);
  ids.Add(7, 2);
  EXPECT_EQ(ids.Find(7), 1u);
  EXPECT_EQ(ids.size(), 1u);
}

TEST(NodeIdsTest, ACopyGrowsOnItsOwn) {
  NodeIds ids;
  ids.Add(1, 10);
  NodeIds copy = ids;
  copy.Add(2, 20);
  EXPECT_EQ(ids.Find(2), kNoNode);
  ids = copy;
  EXPECT_EQ(ids.Find(1), 10u);
  EXPECT_EQ(ids.Find(2), 20u);
}

TEST(NodeIdsTest, VisitsIdsInTheirOrder) {
  NodeIds ids;
  ids.Add(2 * kPage + 1, 5);
  ids.Add(4, 6);
  std::vector<std::pair<uint32_t, NodeIndex>> visited;
  ids.ForEach(
      [&](uint32_t id, NodeIndex node) { visited.emplace_back(id, node); });
  EXPECT_EQ(visited, (std::vector<std::pair<uint32_t, NodeIndex>>{
                         {4, 6}, {2 * kPage + 1, 5}}));
}

TEST(NodeIdsTest, AgentsShareCompletePages) {
  NodeIdPages shared;
  NodeIds first;
  NodeIds second;
  NodeIds other;
  Fill(first, 2 * kPage + 5, &shared);
  Fill(second, 2 * kPage + 9, &shared);
  EXPECT_EQ(shared.size(), 2u);
  Fill(other, kPage, &shared, /*offset=*/1);
  EXPECT_EQ(shared.size(), 3u);
  // The last pages, which still grow, are their own.
  EXPECT_EQ(first.Find(2 * kPage + 9), kNoNode);
  EXPECT_EQ(second.Find(2 * kPage + 9), 2 * kPage + 9);
  EXPECT_EQ(first.Find(kPage), kPage);
  EXPECT_EQ(other.Find(kPage), kPage + 1);
}

TEST(NodeIdsTest, PagesOfAgentsThatAreGoneAreRemoved) {
  NodeIdPages shared;
  NodeIds alive;
  Fill(alive, kPage, &shared);
  for (NodeIndex offset = 1; offset < 500; ++offset) {
    NodeIds gone;
    Fill(gone, kPage, &shared, offset);
  }
  EXPECT_LT(shared.size(), 100u);
  EXPECT_EQ(alive.Find(kPage), kPage);
}

}  // namespace
}  // namespace graphdbg::graph
