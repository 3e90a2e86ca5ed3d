#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/wire/capabilities.h"
#include "proto/wire/error.h"
#include "proto/wire/limits.h"
#include "proto/wire/utf8.h"
#include "proto/wire/validate.h"

namespace graphdbg::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CapabilitiesTest, PeersUseOnlyCommonCapabilities) {
  const std::vector<std::string> own = OwnCapabilities({"nan", "inf"});
  EXPECT_TRUE(Has(own, kWire1));
  EXPECT_TRUE(Has(own, "condition/nan"));
  EXPECT_THAT(Common(own, {"condition/nan", "future/thing", "wire/1"}),
              ElementsAre("wire/1", "condition/nan"));
}

TEST(CapabilitiesTest, WithoutACommonWireTheErrorNamesBothSides) {
  EXPECT_TRUE(CheckCommon({"wire/1"}, {"wire/2", "wire/1"}).ok());
  const absl::Status status = CheckCommon({"wire/1"}, {"wire/2"});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(status), "wire_version");
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("this side supports wire/1, the peer supports wire/2"));
}

TEST(ErrorTest, SurvivesTheWire) {
  const absl::Status status =
      MakeError(absl::StatusCode::kNotFound, "unknown_node", "no node \"x\"");
  const absl::Status back = FromError(ToError(status));
  EXPECT_EQ(back.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(back.message(), "no node \"x\"");
  EXPECT_EQ(ReasonOf(back), "unknown_node");
}

TEST(ErrorTest, IsNeverOk) {
  v1::Error error;
  EXPECT_EQ(FromError(error).code(), absl::StatusCode::kUnknown);
  error.set_code(4711);
  EXPECT_EQ(FromError(error).code(), absl::StatusCode::kUnknown);
}

TEST(Utf8Test, KeepsValidText) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
  EXPECT_EQ(ToValidUtf8(text, 100), text);
}

TEST(Utf8Test, ReplacesInvalidBytes) {
  EXPECT_EQ(ToValidUtf8("a\xFFz", 100), "a\xEF\xBF\xBDz");
  // Overlong, surrogate, beyond Unicode, truncated.
  for (const char* bad :
       {"\xC0\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xE2\x82"}) {
    EXPECT_EQ(ToValidUtf8(bad, 100).substr(0, 3), "\xEF\xBF\xBD");
  }
}

TEST(Utf8Test, TruncatesBetweenCharacters) {
  EXPECT_EQ(ToValidUtf8("ab\xE2\x82\xAC", 4), "ab");
  EXPECT_EQ(ToValidUtf8("ab\xE2\x82\xAC", 5), "ab\xE2\x82\xAC");
}

v1::AgentMessage Hello() {
  v1::AgentMessage message;
  v1::Hello* hello = message.mutable_hello();
  hello->set_job("train-1");
  hello->set_incarnation("abc");
  hello->set_world_size(2);
  hello->set_rank(1);
  return message;
}

TEST(ValidateTest, AcceptsAnOrdinaryHello) {
  EXPECT_TRUE(Validate(Hello()).ok()) << Validate(Hello());
}

TEST(ValidateTest, RejectsHellosWithoutIdentity) {
  v1::AgentMessage message = Hello();
  message.mutable_hello()->clear_job();
  EXPECT_THAT(std::string(Validate(message).message()), HasSubstr("hello.job"));
  message = Hello();
  message.mutable_hello()->set_rank(2);
  EXPECT_THAT(std::string(Validate(message).message()),
              HasSubstr("hello.rank is 2 but the world size is 2"));
  message = Hello();
  message.mutable_hello()->clear_incarnation();
  EXPECT_FALSE(Validate(message).ok());
}

TEST(ValidateTest, LimitsNameTheFieldAndTheLimit) {
  v1::AgentMessage message;
  message.mutable_tensor()->set_data(std::string(kMaxChunkBytes + 1, 'x'));
  const absl::Status status = Validate(message);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("tensor.data of 1048577 exceeds the limit of 1048576"));
}

TEST(ValidateTest, RejectsNodesWithoutIdNameOrKind) {
  v1::AgentMessage message;
  v1::Node* node = message.mutable_graph()->add_nodes();
  node->set_id(1);
  node->set_name("forward/relu");
  node->set_kind(v1::NODE_KIND_OP);
  EXPECT_TRUE(Validate(message).ok()) << Validate(message);
  node->set_id(0);
  EXPECT_FALSE(Validate(message).ok());
  node->set_id(kMaxNodes + 1);
  EXPECT_FALSE(Validate(message).ok());
  node->set_id(1);
  node->clear_name();
  EXPECT_FALSE(Validate(message).ok());
  node->set_name("forward/relu");
  node->set_kind(static_cast<v1::NodeKind>(77));
  EXPECT_FALSE(Validate(message).ok());
}

TEST(ValidateTest, RejectsNegativeSizes) {
  v1::AgentMessage message;
  v1::Hit* hit = message.mutable_hit();
  hit->set_watchpoint(1);
  hit->set_node_id(1);
  EXPECT_TRUE(Validate(message).ok());
  hit->mutable_type()->add_shape(-1);
  EXPECT_FALSE(Validate(message).ok());
}

TEST(ValidateTest, EachReplicaHasADigest) {
  v1::AgentMessage message;
  v1::ReplicaDigests* replicas = message.mutable_replicas();
  EXPECT_FALSE(Validate(message).ok());
  replicas->set_group("0");
  replicas->set_group_size(2);
  replicas->add_node_ids(1);
  replicas->add_digests(7);
  EXPECT_TRUE(Validate(message).ok()) << Validate(message);
  replicas->add_digests(8);
  EXPECT_FALSE(Validate(message).ok());
  replicas->add_node_ids(0);
  EXPECT_FALSE(Validate(message).ok());
}

TEST(ValidateTest, EachOfferedPartHasADigest) {
  v1::AgentMessage message;
  v1::GraphOffer* offer = message.mutable_graph_offer();
  EXPECT_TRUE(Validate(message).ok()) << Validate(message);
  offer->add_node_ids(1);
  EXPECT_FALSE(Validate(message).ok());
  offer->set_digests(std::string(kDigestBytes, 'a'));
  EXPECT_TRUE(Validate(message).ok()) << Validate(message);
  offer->add_node_ids(0);
  offer->set_digests(std::string(2 * kDigestBytes, 'a'));
  EXPECT_FALSE(Validate(message).ok());
  offer->set_node_ids(1, kMaxNodes);
  offer->add_files()->set_file("train.py");
  EXPECT_FALSE(Validate(message).ok());
  offer->mutable_files(0)->set_digest(std::string(kDigestBytes, 'a'));
  EXPECT_TRUE(Validate(message).ok()) << Validate(message);
}

TEST(ValidateTest, EachOpHasItsTimes) {
  v1::AgentMessage message;
  v1::OpTimes* ops = message.mutable_overview()->mutable_ops();
  ops->add_node_ids(1);
  EXPECT_FALSE(Validate(message).ok());
  ops->add_start_ns(5);
  ops->add_duration_ns(2);
  ops->add_threads(0);
  EXPECT_TRUE(Validate(message).ok()) << Validate(message);
  ops->add_threads(1);
  EXPECT_FALSE(Validate(message).ok());
}

TEST(ValidateTest, RejectsEmptyMessages) {
  EXPECT_FALSE(Validate(v1::AgentMessage()).ok());
  EXPECT_FALSE(Validate(v1::ServerMessage()).ok());
  v1::ServerMessage message;
  message.mutable_command()->set_id(1);
  EXPECT_FALSE(Validate(message).ok());
  message.mutable_command()->mutable_step()->set_steps(0);
  EXPECT_FALSE(Validate(message).ok());
  message.mutable_command()->mutable_step()->set_steps(1);
  EXPECT_TRUE(Validate(message).ok());
}

TEST(ValidateTest, RejectsInvalidWatchpoints) {
  v1::ServerMessage message;
  v1::SetWatchpoint* watchpoint = message.mutable_set_watchpoint();
  watchpoint->set_id(1);
  watchpoint->mutable_condition()->set_id("nan");
  EXPECT_TRUE(Validate(message).ok()) << Validate(message);
  auto& texts = *watchpoint->mutable_condition()->mutable_text_params();
  texts["expression"] = std::string(kMaxConditionTextBytes, ' ');
  EXPECT_TRUE(Validate(message).ok());
  texts["expression"] += ' ';
  EXPECT_FALSE(Validate(message).ok());
  texts.clear();
  watchpoint->mutable_selection()->add_categories(
      static_cast<v1::NodeCategory>(99));
  EXPECT_FALSE(Validate(message).ok());
  watchpoint->mutable_selection()->Clear();
  watchpoint->mutable_condition()->clear_id();
  EXPECT_FALSE(Validate(message).ok());
}

}  // namespace
}  // namespace graphdbg::wire
