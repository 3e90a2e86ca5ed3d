// Reports of an agent by which the server compares ranks.
#include <cmath>
#include <future>
#include <string>
#include <vector>

#include "agent/testing/agent_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using ::testing::ElementsAre;

const float kNan = std::nanf("");

class AgentRanksTest : public AgentFixture {
 protected:
  AgentRanksTest() {
    identity_.reports = true;
    config_.world_size = 2;
  }
};

TEST_F(AgentRanksTest, DifferencesThatTheServerFindsAreHits) {
  Run();
  const uint32_t weight = Declare("weight", GRAPHDBG_PARAMETER);
  agent_->Start();
  server_->Watch(1, "replicas_differ", "", v1::PAUSE_MODE_STEP);
  const graphdbg_replica replica = {weight, 0xFFFFFFFFFFFFFFFF};
  graphdbg_replicas replicas = {};
  replicas.struct_size = sizeof(replicas);
  replicas.group = "all";
  replicas.group_size = 2;
  replicas.moment = 7;
  replicas.replicas = &replica;
  replicas.count = 1;
  EXPECT_TRUE(agent_->CompareReplicas(replicas).ok());
  const v1::ReplicaDigests sent =
      server_
          ->WaitFor([](const v1::AgentMessage& m) { return m.has_replicas(); })
          .replicas();
  EXPECT_EQ(sent.step(), 1u);
  EXPECT_EQ(sent.group(), "all");
  EXPECT_EQ(sent.group_size(), 2u);
  EXPECT_EQ(sent.moment(), 7u);
  EXPECT_THAT(sent.node_ids(), ElementsAre(weight));
  EXPECT_THAT(sent.digests(), ElementsAre(replica.digest));
  agent_->StepEnd();

  v1::ServerMessage message;
  v1::Finding& finding = *message.mutable_finding();
  finding.set_condition("replicas_differ");
  finding.set_step(1);
  finding.set_node_id(weight);
  finding.set_message("ranks 0 and 1 differ");
  server_->Send(message);
  const v1::Hit hit = server_->WaitForHit();
  EXPECT_EQ(hit.step(), 1u);
  EXPECT_EQ(hit.node_id(), weight);
  EXPECT_EQ(hit.message(), "ranks 0 and 1 differ");
  auto stopped = Stop([&] { agent_->StepEnd(); });
  Resume(&stopped);
}

TEST_F(AgentRanksTest, ReplicasOfUnknownNodesAreRefused) {
  Run();
  const graphdbg_replica replica = {1, 5};
  graphdbg_replicas replicas = {};
  replicas.group = "all";
  replicas.replicas = &replica;
  replicas.count = 1;
  EXPECT_FALSE(agent_->CompareReplicas(replicas).ok());
}

TEST_F(AgentRanksTest, TheOriginOfNanIsReportedWhenTheStepEnds) {
  Run();
  const uint32_t root = Declare("root");
  const uint32_t update = Declare("update");
  agent_->Start();
  // It may stop the program, so that all outputs of a step are kept.
  server_->Watch(1, "nan", "update", v1::PAUSE_MODE_STEP);
  const std::vector<float> bad = {1, kNan};
  Execute(root, bad);
  Execute(update, bad);
  auto ended = std::async(std::launch::async, [&] { agent_->StepEnd(); });
  const v1::NonFiniteOrigin origin =
      server_
          ->WaitFor([](const v1::AgentMessage& m) {
            return m.has_non_finite_origin();
          })
          .non_finite_origin();
  EXPECT_EQ(origin.step(), 1u);
  EXPECT_EQ(origin.node_id(), root);
  EXPECT_EQ(origin.order(), 1u);
  EXPECT_FALSE(origin.received());
  server_->WaitForPause();
  Resume(&ended);
}

}  // namespace
}  // namespace graphdbg::agent
