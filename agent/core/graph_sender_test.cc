#include "agent/core/graph_sender.h"

#include <future>
#include <string>

#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

class GraphSenderTest : public testing::Test {
 protected:
  // Names are long, so that an offer is worth it.
  void Declare(const std::string& name) {
    const std::string full = name + std::string(2000, 'x');
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = full.c_str();
    info.kind = GRAPHDBG_OP;
    ASSERT_TRUE(nodes_.Declare(info).ok());
  }

  void Open(bool takes_offers) {
    sender_.OpenStream();
    nodes_.ResendAll();
    sender_.BeginStream(takes_offers);
  }

  v1::AgentMessage MustNext() {
    v1::AgentMessage message;
    EXPECT_TRUE(sender_.Next(&message));
    return message;
  }
  bool HasNext() {
    v1::AgentMessage message;
    return sender_.Next(&message);
  }

  NodeTable nodes_;
  GraphSender sender_{&nodes_, /*source_files=*/true};
};

TEST_F(GraphSenderTest, AServerThatTakesNoOffersIsSentAll) {
  Declare("a");
  Open(/*takes_offers=*/false);
  const v1::AgentMessage message = MustNext();
  ASSERT_EQ(message.graph().nodes_size(), 1);
  EXPECT_EQ(message.graph().nodes(0).digest(), "");
  EXPECT_FALSE(HasNext());
}

TEST_F(GraphSenderTest, TheServerIsSentWhatItNeeds) {
  Declare("a");
  Declare("b");
  Open(/*takes_offers=*/true);
  EXPECT_EQ(MustNext().graph_offer().node_ids_size(), 2);
  v1::NeededGraph needed;
  needed.add_nodes(1);
  sender_.Answer(needed);
  const v1::AgentMessage message = MustNext();
  ASSERT_EQ(message.graph().nodes_size(), 1);
  EXPECT_EQ(message.graph().nodes(0).id(), 2u);
  EXPECT_FALSE(HasNext());
}

TEST_F(GraphSenderTest, NothingIsSentOfWhatIsKnown) {
  Declare("a");
  Open(/*takes_offers=*/true);
  EXPECT_TRUE(MustNext().has_graph_offer());
  Declare("b");
  sender_.Answer({});
  // The next update.
  EXPECT_EQ(MustNext().graph_offer().node_ids(0), 2u);
  sender_.Answer({});
  EXPECT_FALSE(HasNext());
}

TEST_F(GraphSenderTest, NothingIsSentBeforeTheAnswer) {
  Declare("a");
  Open(/*takes_offers=*/true);
  EXPECT_TRUE(MustNext().has_graph_offer());
  auto next = std::async(std::launch::async, [this] { return HasNext(); });
  sender_.Answer({});
  EXPECT_FALSE(next.get());
}

TEST_F(GraphSenderTest, AStreamThatEndsLeavesNothingBehind) {
  Declare("a");
  Open(/*takes_offers=*/true);
  EXPECT_TRUE(MustNext().has_graph_offer());
  auto next = std::async(std::launch::async, [this] { return HasNext(); });
  sender_.EndStream();
  EXPECT_FALSE(next.get());
  Open(/*takes_offers=*/true);
  EXPECT_EQ(MustNext().graph_offer().node_ids_size(), 1);
  v1::NeededGraph needed;
  needed.add_nodes(0);
  sender_.Answer(needed);
  EXPECT_EQ(MustNext().graph().nodes_size(), 1);
}

TEST_F(GraphSenderTest, SmallUpdatesAreSentAtOnce) {
  graphdbg_node_info info = {};
  info.struct_size = sizeof(info);
  info.name = "small";
  info.kind = GRAPHDBG_OP;
  ASSERT_TRUE(nodes_.Declare(info).ok());
  Open(/*takes_offers=*/true);
  // With a digest, so that others can offer it.
  EXPECT_EQ(MustNext().graph().nodes(0).digest().size(), 16u);
}

}  // namespace
}  // namespace graphdbg::agent
