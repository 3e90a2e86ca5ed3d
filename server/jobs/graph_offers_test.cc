#include "server/jobs/graph_offers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

using Positions = std::vector<uint32_t>;

// Node "n1" has the id 1 and the digest 101 on each rank, and so on.
class GraphOffersTest : public JobFixture {
 protected:
  static GraphOffer OfferOf(const std::vector<uint32_t>& nodes) {
    GraphOffer offer;
    offer.nodes = nodes;
    for (uint32_t node : nodes) offer.digests.push_back(100 + node);
    return offer;
  }

  static graph::NodeRecord RecordOf(uint32_t node) {
    graph::NodeRecord record;
    record.id = node;
    record.name = absl::StrCat("n", node);
    record.digest = 100 + node;
    return record;
  }

  void Send(uint32_t rank, const std::vector<uint32_t>& nodes) {
    graph::GraphPatch patch;
    for (uint32_t node : nodes) patch.nodes.push_back(RecordOf(node));
    Rank& sender = *machine_.Find(rank);
    ASSERT_TRUE(graph_.Apply(patch, sender.ids).ok());
    offers_.OnSent(sender);
  }

  absl::Status Offer(uint32_t rank, const std::vector<uint32_t>& nodes) {
    Rank* const known = machine_.Find(rank);
    return offers_.Add(known != nullptr ? *known : Connect(rank, 100),
                       OfferOf(nodes));
  }

  size_t AnswersTo(uint32_t rank) const {
    return LinkOf(rank)->OrdersOf<NeededGraphOrder>().size();
  }
  Positions NeededOf(uint32_t rank) const {
    const auto answers = LinkOf(rank)->OrdersOf<NeededGraphOrder>();
    return answers.empty() ? Positions{999} : answers.back().nodes;
  }

  std::string NodeOf(uint32_t rank, uint32_t id) {
    const graph::NodeIndex node = machine_.Find(rank)->ids.Find(id);
    return node == graph::kNoNode ? "" : graph_.node(node).name;
  }

  std::vector<graph::NodeIndex> completed_;
  GraphOffers offers_{graph_, tasks_,
                      [this](Rank&, const graph::GraphChanges& changes) {
                        completed_ = changes.nodes;
                      }};
};

TEST_F(GraphOffersTest, ARankIsAskedForWhatIsNotKnown) {
  ASSERT_TRUE(Offer(0, {1, 2, 3}).ok());
  EXPECT_EQ(NeededOf(0), (Positions{0, 1, 2}));
  Send(0, {1, 2, 3});
  ASSERT_TRUE(Offer(1, {2, 4, 3}).ok());
  EXPECT_EQ(NeededOf(1), Positions{1});
  // The others count as sent.
  EXPECT_EQ(NodeOf(1, 2), "n2");
  EXPECT_EQ(NodeOf(1, 3), "n3");
  EXPECT_EQ(NodeOf(1, 4), "");
}

TEST_F(GraphOffersTest, ANodeThatHasChangedIsNotKnown) {
  ASSERT_TRUE(Offer(0, {1}).ok());
  Send(0, {1});
  graph::GraphPatch patch;
  patch.nodes = {RecordOf(1)};
  patch.nodes[0].op_type = "relu";
  patch.nodes[0].digest = 7;
  ASSERT_TRUE(graph_.Apply(patch, machine_.Find(0)->ids).ok());
  ASSERT_TRUE(Offer(1, {1}).ok());
  EXPECT_EQ(NeededOf(1), Positions{0});
}

TEST_F(GraphOffersTest, AnIdThatIsAnotherNodesIsNotKnown) {
  ASSERT_TRUE(Offer(0, {1, 2}).ok());
  Send(0, {1, 2});
  GraphOffer wrong = OfferOf({1});
  wrong.nodes[0] = 2;
  ASSERT_TRUE(offers_.Add(*machine_.Find(0), wrong).ok());
  EXPECT_EQ(NeededOf(0), Positions{0});
  EXPECT_EQ(NodeOf(0, 2), "n2");
}

TEST_F(GraphOffersTest, FilesAreAskedForOnce) {
  GraphOffer offer;
  offer.files = {{"train.py", 5}};
  ASSERT_TRUE(offers_.Add(Connect(0), offer).ok());
  const auto needed = LinkOf(0)->OrdersOf<NeededGraphOrder>();
  ASSERT_EQ(needed.size(), 1u);
  EXPECT_EQ(needed[0].files, Positions{0});
  graph::GraphPatch patch;
  patch.files = {{"train.py", "import torch", 5}};
  ASSERT_TRUE(graph_.Apply(patch, machine_.Find(0)->ids).ok());
  ASSERT_TRUE(offers_.Add(Connect(1), offer).ok());
  EXPECT_TRUE(LinkOf(1)->OrdersOf<NeededGraphOrder>()[0].files.empty());
}

TEST_F(GraphOffersTest, OnlyAFewSendAndTheOthersFindThatAllIsKnown) {
  constexpr uint32_t kRanks = 20;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(Offer(rank, {1, 2}).ok());
  }
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(AnswersTo(rank), rank < GraphOffers::kMaxSending ? 1u : 0u);
  }
  EXPECT_FALSE(Offer(kRanks - 1, {3}).ok());
  Send(0, {1, 2});
  EXPECT_EQ(offers_.waiting(), 0u);
  EXPECT_EQ(NeededOf(kRanks - 1), Positions{});
  EXPECT_EQ(NodeOf(kRanks - 1, 2), "n2");
}

TEST_F(GraphOffersTest, RanksThatDifferSendOneAfterTheOther) {
  for (uint32_t rank = 0; rank <= GraphOffers::kMaxSending + 1; ++rank) {
    ASSERT_TRUE(Offer(rank, {rank + 1}).ok());
  }
  EXPECT_EQ(offers_.waiting(), 2u);
  Send(0, {1});
  EXPECT_EQ(offers_.waiting(), 1u);
  EXPECT_EQ(NeededOf(GraphOffers::kMaxSending), Positions{0});
}

TEST_F(GraphOffersTest, ASenderThatIsGoneOrSlowIsReplaced) {
  for (uint32_t rank = 0; rank < GraphOffers::kMaxSending + 3; ++rank) {
    ASSERT_TRUE(Offer(rank, {1}).ok());
  }
  offers_.Remove(*machine_.Find(0));
  EXPECT_EQ(offers_.waiting(), 2u);
  // One that waits is gone as well: it is not answered any more.
  offers_.Remove(*machine_.Find(GraphOffers::kMaxSending + 1));
  EXPECT_EQ(offers_.waiting(), 1u);
  EXPECT_FALSE(tasks_.FireTimers().empty());
  EXPECT_EQ(offers_.waiting(), 0u);
  EXPECT_EQ(NeededOf(GraphOffers::kMaxSending + 2), Positions{0});
  EXPECT_EQ(AnswersTo(GraphOffers::kMaxSending + 1), 0u);
}

TEST_F(GraphOffersTest, ANodeThatOthersWaitForCompletesThem) {
  ASSERT_TRUE(Offer(0, {2}).ok());
  Send(0, {2});
  Rank& rank = Connect(1);
  graph::GraphPatch patch;
  patch.nodes = {RecordOf(1)};
  patch.nodes[0].inputs = {{2, 0}};
  ASSERT_TRUE(graph_.Apply(patch, rank.ids).ok());
  // As long as an input is missing, nobody can offer the node.
  EXPECT_EQ(graph_.FindDigest(101), graph::kNoNode);
  ASSERT_TRUE(Offer(1, {2}).ok());
  const graph::NodeIndex node = graph_.FindNode("n1");
  EXPECT_EQ(completed_, std::vector<graph::NodeIndex>{node});
  EXPECT_EQ(graph_.node(node).inputs[0].node, graph_.FindNode("n2"));
}

}  // namespace
}  // namespace graphdbg::jobs
