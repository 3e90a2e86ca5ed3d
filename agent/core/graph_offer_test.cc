#include "agent/core/graph_offer.h"

#include <string>

#include "gtest/gtest.h"
#include "proto/wire/limits.h"

namespace graphdbg::agent {
namespace {

// Node 2 of a rank that calls its nodes `first`, `first` + 1, ...
v1::GraphUpdate UpdateOf(uint32_t first) {
  v1::GraphUpdate update;
  for (uint32_t i = 0; i < 3; ++i) {
    v1::Node& node = *update.add_nodes();
    node.set_id(first + i);
    node.set_name("node" + std::to_string(i));
    (*node.mutable_attributes())["a"] = "1";
    (*node.mutable_attributes())["b"] = "2";
    if (i == 0) continue;
    node.add_inputs()->set_node_id(first + i - 1);
    node.set_forward_node_id(first);
  }
  v1::SourceFile& file = *update.add_files();
  file.set_file("train.py");
  file.set_text("import torch");
  AddDigests(
      [first](uint32_t id) -> absl::string_view {
        constexpr absl::string_view kNames[] = {"node0", "node1", "node2"};
        return kNames[id - first];
      },
      &update);
  return update;
}

TEST(GraphOfferTest, DigestsAreThoseOfTheContentAndNotOfIds) {
  const v1::GraphUpdate one = UpdateOf(1);
  const v1::GraphUpdate other = UpdateOf(40);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(one.nodes(i).digest().size(), wire::kDigestBytes);
    EXPECT_EQ(one.nodes(i).digest(), other.nodes(i).digest());
  }
  EXPECT_NE(one.nodes(0).digest(), one.nodes(1).digest());
  EXPECT_EQ(one.files(0).digest(), other.files(0).digest());
  // The messages are otherwise as before.
  EXPECT_EQ(other.nodes(2).id(), 42u);
  EXPECT_EQ(other.nodes(2).inputs(0).node_id(), 41u);
  EXPECT_EQ(other.nodes(2).forward_node_id(), 40u);
}

TEST(GraphOfferTest, WhatIsDifferentHasAnotherDigest) {
  const std::string before = UpdateOf(1).nodes(1).digest();
  const auto digest_after = [](const std::function<void(v1::Node&)>& change) {
    v1::GraphUpdate update = UpdateOf(1);
    change(*update.mutable_nodes(1));
    AddDigests([](uint32_t) { return "node0"; }, &update);
    return update.nodes(1).digest();
  };
  EXPECT_EQ(before, digest_after([](v1::Node&) {}));
  EXPECT_EQ(before,
            digest_after([](v1::Node& node) { node.set_last_step(7); }));
  EXPECT_NE(before,
            digest_after([](v1::Node& node) { node.set_op_type("relu"); }));
  EXPECT_NE(before, digest_after([](v1::Node& node) {
              node.mutable_inputs(0)->set_slot(1);
            }));
  EXPECT_NE(before,
            digest_after([](v1::Node& node) { node.clear_forward_node_id(); }));
  EXPECT_NE(before, digest_after([](v1::Node& node) {
              node.mutable_stack()->Add()->set_text("x = 1");
            }));
}

TEST(GraphOfferTest, OnlyWhatIsNeededAndLastStepsAreSent) {
  v1::GraphUpdate update = UpdateOf(1);
  update.mutable_nodes(0)->set_last_step(3);
  update.mutable_nodes(2)->set_last_step(3);
  const v1::GraphOffer offer = OfferOf(update);
  EXPECT_EQ(offer.node_ids_size(), 3);
  EXPECT_EQ(offer.digests().size(), 3 * wire::kDigestBytes);
  EXPECT_EQ(offer.digests().substr(wire::kDigestBytes, wire::kDigestBytes),
            update.nodes(1).digest());
  EXPECT_EQ(offer.files(0).file(), "train.py");
  EXPECT_EQ(offer.files(0).text(), "");
  v1::NeededGraph needed;
  needed.add_nodes(1);
  // Not a position of the offer.
  needed.add_nodes(3);
  KeepNeeded(needed, &update);
  ASSERT_EQ(update.nodes_size(), 1);
  EXPECT_EQ(update.nodes(0).name(), "node1");
  EXPECT_EQ(update.files_size(), 0);
  ASSERT_EQ(update.seen_size(), 1);
  EXPECT_EQ(update.seen(0).step(), 3u);
  EXPECT_EQ(update.seen(0).node_ids(0), 1u);
  EXPECT_EQ(update.seen(0).node_ids(1), 3u);
}

}  // namespace
}  // namespace graphdbg::agent
