// Compares the schema with bytes of real clients and servers: each vector
// decodes to the expected content and encodes to the same bytes.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"
#include "proto/mindspore/debugger.grpc.pb.h"

namespace debugger {
namespace {

// Decodes, and checks that encoding restores the same bytes.
template <class Message>
Message Golden(const std::string& hex) {
  const std::string bytes = absl::HexStringToBytes(hex);
  Message message;
  EXPECT_TRUE(message.ParseFromString(bytes)) << hex;
  EXPECT_EQ(absl::BytesToHexString(message.SerializeAsString()), hex);
  return message;
}

TEST(GoldenTest, ServiceHasTheNameThatClientsCall) {
  EXPECT_STREQ(EventListener::service_full_name(), "debugger.EventListener");
}

TEST(GoldenTest, PlainReplies) {
  EXPECT_EQ(Golden<EventReply>("").status(), EventReply::OK);
  EXPECT_EQ(Golden<EventReply>("0801").status(), EventReply::FAILED);
  EXPECT_TRUE(Golden<EventReply>("1001").exit());
}

TEST(GoldenTest, VersionMatchedIsSentEvenIfFalse) {
  EXPECT_TRUE(Golden<EventReply>("3001").version_matched());
  const auto refused = Golden<EventReply>("3000");
  EXPECT_TRUE(refused.has_version_matched());
  EXPECT_FALSE(refused.version_matched());
}

TEST(GoldenTest, RunCommands) {
  const auto step = Golden<EventReply>("1a080a04737465701001").run_cmd();
  EXPECT_EQ(step.run_level(), "step");
  EXPECT_EQ(step.run_steps(), 1);
  EXPECT_EQ(Golden<EventReply>("1a090a077265636865636b").run_cmd().run_level(),
            "recheck");
  const auto next = Golden<EventReply>("1a080a046e6f64651a00").run_cmd();
  EXPECT_EQ(next.run_level(), "node");
  EXPECT_TRUE(next.has_node_name());
  EXPECT_EQ(Golden<EventReply>("1a150a046e6f64651a0d44656661756c742f612d6f7031")
                .run_cmd()
                .node_name(),
            "Default/a-op1");
}

TEST(GoldenTest, DeleteWatchpoint) {
  const auto set = Golden<EventReply>("220418012002").set_cmd();
  EXPECT_TRUE(set.delete_());
  EXPECT_EQ(set.id(), 2);
}

TEST(GoldenTest, SetWatchpoint) {
  const auto set =
      Golden<EventReply>(
          "22510a250a0d44656661756c742f612d6f7031120452654c551a0e6b65726e656c"
          "5f67726170685f3012260811150000c842221d0a127a65726f5f70657263656e74"
          "6167655f67651900000000000059402001")
          .set_cmd();
  ASSERT_EQ(set.watch_nodes_size(), 1);
  EXPECT_EQ(set.watch_nodes(0).node_name(), "Default/a-op1");
  EXPECT_EQ(set.watch_nodes(0).node_type(), "ReLU");
  EXPECT_EQ(set.watch_nodes(0).graph_name(), "kernel_graph_0");
  EXPECT_EQ(set.watch_condition().condition(), WatchCondition::tensor_all_zero);
  EXPECT_EQ(set.watch_condition().value(), 100);
  ASSERT_EQ(set.watch_condition().params_size(), 1);
  EXPECT_EQ(set.watch_condition().params(0).name(), "zero_percentage_ge");
  EXPECT_EQ(set.watch_condition().params(0).value(), 100);
}

TEST(GoldenTest, ViewOfThePreviousStep) {
  const auto view =
      Golden<EventReply>(
          "2a1a0a160a0944656661756c742f771201303a047072657640011002")
          .view_cmd();
  EXPECT_EQ(view.level(), ViewCMD::base);
  ASSERT_EQ(view.tensors_size(), 1);
  EXPECT_EQ(view.tensors(0).node_name(), "Default/w");
  EXPECT_EQ(view.tensors(0).slot(), "0");
  EXPECT_EQ(view.tensors(0).iter(), "prev");
  EXPECT_TRUE(view.tensors(0).truncate());
}

TEST(GoldenTest, Metadata) {
  const auto metadata =
      Golden<Metadata>("0a03303a311a0347505530013a05312e322e30");
  EXPECT_EQ(metadata.device_name(), "0:1");
  EXPECT_EQ(metadata.cur_step(), 0);
  EXPECT_EQ(metadata.backend(), "GPU");
  EXPECT_EQ(metadata.graph_num(), 1);
  EXPECT_EQ(metadata.ms_version(), "1.2.0");
}

TEST(GoldenTest, TensorsWithUnpackedDims) {
  const auto tensor = Golden<TensorProto>(
      "0a0944656661756c742f771201301a080000803f000000402002280b30013a004001");
  EXPECT_EQ(tensor.data_type(), DT_FLOAT32);
  ASSERT_EQ(tensor.dims_size(), 1);
  EXPECT_EQ(tensor.dims(0), 2);
  EXPECT_EQ(tensor.tensor_content().size(), 8u);
  EXPECT_TRUE(tensor.finished());
  const auto missing =
      Golden<TensorProto>("0a0944656661756c742f7712013030013a004001");
  EXPECT_FALSE(missing.has_tensor_content());
  EXPECT_FALSE(missing.has_data_type());
  EXPECT_TRUE(missing.finished());
}

TEST(GoldenTest, ChunkAndHeartbeat) {
  const auto chunk = Golden<Chunk>("0a036162631001");
  EXPECT_EQ(chunk.buffer(), "abc");
  EXPECT_TRUE(chunk.finished());
  EXPECT_EQ(Golden<Heartbeat>("0a016d101e").period(), 30);
}

TEST(GoldenTest, Hit) {
  const auto hit = Golden<WatchpointHit>(
      "0a140a0d44656661756c742f612d6f70311201303001122c081122280a127a65726f5f"
      "70657263656e746167655f6765190000000000005940200129000000000000594018"
      "01");
  EXPECT_EQ(hit.id(), 1);
  EXPECT_EQ(hit.tensor().node_name(), "Default/a-op1");
  ASSERT_EQ(hit.watch_condition().params_size(), 1);
  EXPECT_TRUE(hit.watch_condition().params(0).hit());
  EXPECT_EQ(hit.watch_condition().params(0).actual_value(), 100);
}

// Names of nodes come from users' programs and may have any encoding.
TEST(GoldenTest, NamesOfGraphsAndTensorsNeedNotBeUtf8) {
  TensorProto tensor;
  ASSERT_TRUE(tensor.ParseFromString(absl::HexStringToBytes("0a02fffe")));
  EXPECT_EQ(tensor.node_name(), "\xff\xfe");
}

}  // namespace
}  // namespace debugger
