// Tests the protocol with messages in orders that real clients rarely produce.
#include "server/mindspore/client_protocol.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace graphdbg::mindspore {
namespace {

using debugger::EventReply;
using model::ControlVerb;

constexpr char kOp[] = "Default/a-op1";

class ClientProtocolTest : public testing::Test {
 protected:
  // A client on `backend` that is attached and waits before its first step.
  void Begin(const std::string& version, const std::string& backend) {
    client_.set_ms_version(version);
    client_.set_backend(backend);
    protocol_.OnMetadata(client_);
    graph_.set_name("kernel_graph_0");
    debugger::NodeProto& node = *graph_.add_node();
    node.set_name("1");
    node.set_full_name(kOp);
    node.set_op_type("ReLU");
    node.mutable_output_type()->set_data_type(debugger::DT_TENSOR);
    protocol_.OnGraphs({graph_});
    protocol_.set_attached(true);
    protocol_.OnWait(client_);
    protocol_.TakeReports();
  }
  void Order(ControlVerb verb, uint64_t steps = 1) {
    jobs::CommandOrder order;
    order.id = 7;
    order.verb = verb;
    order.steps = steps;
    protocol_.HandleOrder(order);
  }
  void WaitAt(int step, const std::string& node = "") {
    client_.set_cur_step(step);
    client_.set_cur_node(node);
    protocol_.OnWait(client_);
  }
  // The level of the next run command; empty if there is none.
  std::string NextRun() {
    const auto reply = protocol_.Next();
    return reply ? reply->run_cmd().run_level() : "";
  }
  // The last report of the client's position.
  jobs::RunReport LastPosition() {
    jobs::RunReport last;
    for (jobs::AgentReport& report : protocol_.TakeReports()) {
      auto* run = std::get_if<jobs::RunReport>(&report);
      if (run != nullptr) last = *run;
    }
    return last;
  }

  // The hits among the reports since the last call.
  static std::vector<jobs::HitReport> HitsOf(ClientProtocol& protocol) {
    std::vector<jobs::HitReport> hits;
    for (jobs::AgentReport& report : protocol.TakeReports()) {
      auto* hit = std::get_if<jobs::HitReport>(&report);
      if (hit != nullptr) hits.push_back(std::move(*hit));
    }
    return hits;
  }
  std::vector<jobs::HitReport> Hits() { return HitsOf(protocol_); }

  debugger::Metadata client_;
  debugger::GraphProto graph_;
  ClientProtocol protocol_{[] { return int64_t{1}; }};
};

TEST_F(ClientProtocolTest, APauseTakesBackARunThatWasNotFetched) {
  Begin("1.2.0", "Ascend");
  Order(ControlVerb::kContinue);
  Order(ControlVerb::kPause);
  EXPECT_EQ(NextRun(), "");
  const jobs::RunReport position = LastPosition();
  EXPECT_TRUE(position.paused);
  EXPECT_EQ(position.reason, model::PauseReason::kUser);
  EXPECT_EQ(position.step, 0u);
}

TEST_F(ClientProtocolTest, RunsOnlyWhenTheSessionKnowsItsWatchpoints) {
  Begin("1.2.0", "Ascend");
  protocol_.set_attached(false);
  Order(ControlVerb::kContinue);
  EXPECT_EQ(NextRun(), "");
  protocol_.set_attached(true);
  EXPECT_EQ(NextRun(), "step");
}

// The command was lost with the connection, and the client has not moved.
TEST_F(ClientProtocolTest, ARunThatNeverArrivedIsSaidAgain) {
  Begin("1.2.0", "Ascend");
  Order(ControlVerb::kStep, 2);
  EXPECT_EQ(NextRun(), "step");
  WaitAt(1);
  EXPECT_EQ(NextRun(), "step");
  protocol_.OnDisconnect();
  protocol_.RequestReport();
  WaitAt(1);
  EXPECT_EQ(NextRun(), "step");
  WaitAt(2);
  EXPECT_EQ(NextRun(), "");
  EXPECT_EQ(LastPosition().step, 2u);
}

TEST_F(ClientProtocolTest, AStepThatEndedWhileTheClientWasLostCounts) {
  Begin("1.2.0", "Ascend");
  Order(ControlVerb::kStep, 2);
  EXPECT_EQ(NextRun(), "step");
  WaitAt(1);
  EXPECT_EQ(NextRun(), "step");
  protocol_.OnDisconnect();
  protocol_.RequestReport();
  WaitAt(2);
  EXPECT_EQ(NextRun(), "");
  EXPECT_EQ(LastPosition().step, 2u);
}

// The saved state stays the same from step to step of a run, so that it is not
// written after each step.
TEST_F(ClientProtocolTest, WhatIsKeptDoesNotChangeFromStepToStep) {
  Begin("1.2.0", "Ascend");
  Order(ControlVerb::kContinue);
  EXPECT_EQ(NextRun(), "step");
  WaitAt(1);
  EXPECT_EQ(NextRun(), "step");
  const std::string kept = protocol_.Save().SerializeAsString();
  WaitAt(2);
  EXPECT_EQ(NextRun(), "step");
  EXPECT_EQ(protocol_.Save().SerializeAsString(), kept);
}

// The store may have been unable to write while the client went on.
TEST_F(ClientProtocolTest,
       HitsAreReportedAgainByTheNextServerUntilTheyAreStored) {
  Begin("1.2.0", "Ascend");
  jobs::SetWatchpointOrder watch;
  watch.id = 5;
  watch.revision = 1;
  watch.spec.condition = {"max_gt", {{"value", 1.0}}};
  watch.spec.pause = model::PauseMode::kNone;
  watch.spec.selection.patterns = {"**"};
  protocol_.HandleOrder(watch);
  Order(ControlVerb::kContinue);
  int number = 0;
  while (const auto reply = protocol_.Next()) {
    if (reply->has_set_cmd()) number = reply->set_cmd().id();
    if (reply->has_run_cmd()) break;
    WaitAt(0);
  }
  ASSERT_NE(number, 0);
  debugger::WatchpointHit hit;
  hit.set_id(number);
  hit.mutable_tensor()->set_node_name(kOp);
  hit.mutable_tensor()->set_slot("0");
  for (int step = 1; step <= 3; ++step) {
    protocol_.OnHit(hit);
    WaitAt(step);
    EXPECT_EQ(NextRun(), "step");
  }
  ASSERT_EQ(Hits().size(), 3u);
  protocol_.OnHitsStored(1);
  const SavedProtocol saved = protocol_.Save();
  ClientProtocol next([] { return int64_t{1}; });
  next.Restore(saved, {graph_});
  const auto again = HitsOf(next);
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].number, 2u);
  EXPECT_EQ(again[0].hit.step, 2u);
  EXPECT_EQ(again[1].number, 3u);
  EXPECT_EQ(again[1].hit.step, 3u);
  EXPECT_EQ(next.Save().SerializeAsString(), saved.SerializeAsString());
  next.OnHitsStored(3);
  EXPECT_EQ(next.Save().hits_size(), 0);
}

TEST_F(ClientProtocolTest, ItIsSaidOnceThatAStepHadMoreHitsThanAreKept) {
  Begin("1.3.0", "Ascend");
  for (size_t i = 0; i < ClientProtocol::kMaxHits + 2; ++i) {
    protocol_.OnHit(debugger::WatchpointHit());
  }
  int warnings = 0;
  for (const jobs::AgentReport& report : protocol_.TakeReports()) {
    const auto* log = std::get_if<jobs::LogReport>(&report);
    warnings += log != nullptr && log->level == "warning";
  }
  EXPECT_EQ(warnings, 1);
}

TEST_F(ClientProtocolTest, ReleasedItRunsOnByItself) {
  Begin("2.2.0", "GPU");
  protocol_.set_attached(false);
  protocol_.Release();
  for (int step = 1; step <= 3; ++step) {
    EXPECT_EQ(NextRun(), "step");
    WaitAt(step, kOp);
  }
  EXPECT_TRUE(protocol_.TakeReports().empty());
}

}  // namespace
}  // namespace graphdbg::mindspore
