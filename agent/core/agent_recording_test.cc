// Recording that a server switches on and off while the program runs.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "agent/testing/agent_fixture.h"
#include "agent/testing/recorder_fixture.h"

namespace graphdbg::agent {
namespace {

using testing::HasSubstr;

class AgentRecordingTest : public AgentFixture {
 protected:
  AgentRecordingTest() {
    open_recording_ = [this](const RecordingOptions& options, const v1::Hello&,
                             RecordingCallbacks callbacks)
        -> absl::StatusOr<std::unique_ptr<Recording>> {
      if (options.directory == "/full") {
        return absl::ResourceExhaustedError("the disk of /full is full");
      }
      opened_.push_back(options);
      ++opened_count_;
      recorded_.push_back(std::make_unique<Recorded>());
      return std::make_unique<FakeRecording>(recorded_.back().get(),
                                             std::move(callbacks));
    };
  }

  // The agent closes its recording, which writes to members of this class.
  ~AgentRecordingTest() override { agent_.reset(); }

  void SetUp() override {
    Run();
    node_ = Declare("a");
    ASSERT_EQ(agent_->Start(), GRAPHDBG_OK);
    TakeStep();
  }

  void TakeStep() {
    agent_->BeginOp(node_);
    Execute(node_, {1, 2});
    agent_->EndOp();
    EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  }

  v1::RecordingStatus Set(bool on, const std::string& directory = "",
                          const std::string& settings = "") {
    v1::ServerMessage message;
    v1::SetRecording& order = *message.mutable_set_recording();
    const uint64_t id = ++last_id_;
    order.set_id(id);
    order.set_on(on);
    order.set_directory(directory);
    order.set_settings(settings);
    server_->Send(message);
    return server_
        ->WaitFor([id](const v1::AgentMessage& m) {
          return m.has_recording_status() && m.recording_status().id() == id;
        })
        .recording_status();
  }
  v1::RecordingStatus Boost(const std::string& settings, uint32_t steps) {
    v1::ServerMessage message;
    v1::SetRecording& order = *message.mutable_set_recording();
    const uint64_t id = ++last_id_;
    order.set_id(id);
    order.mutable_boost()->set_settings(settings);
    order.mutable_boost()->set_steps(steps);
    server_->Send(message);
    return server_
        ->WaitFor([id](const v1::AgentMessage& m) {
          return m.has_recording_status() && m.recording_status().id() == id;
        })
        .recording_status();
  }
  // The steps whose values of a node were saved.
  std::vector<uint64_t> SavedSteps(uint32_t node) {
    std::vector<uint64_t> steps;
    for (const auto& each : recorded_[0]->tensors) {
      if (each.key.node == node) steps.push_back(each.key.step);
    }
    return steps;
  }
  void WaitUntilOff() {
    server_->WaitFor([](const v1::AgentMessage& m) {
      return m.has_recording_status() && m.recording_status().id() == 0 &&
             m.recording_status().state() == v1::RecordingStatus::STATE_OFF;
    });
  }

  static constexpr char kAll[] = R"({"collections": [{"name": "all"}]})";
  uint32_t node_ = 0;
  uint64_t last_id_ = 0;
  std::vector<RecordingOptions> opened_;
  std::atomic<int> opened_count_{0};
  std::vector<std::unique_ptr<Recorded>> recorded_;
};

TEST_F(AgentRecordingTest, BeginsAndEndsBetweenSteps) {
  const v1::RecordingStatus starting = Set(true, "/there", kAll);
  EXPECT_EQ(starting.state(), v1::RecordingStatus::STATE_STARTING);
  EXPECT_EQ(starting.directory(), "/runs/job");
  EXPECT_EQ(opened_[0].directory, "/there");
  Execute(node_, {1, 2});
  EXPECT_TRUE(recorded_[0]->values.empty());
  EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  TakeStep();
  TakeStep();
  // Steps 3 and 4.
  ASSERT_EQ(recorded_[0]->values.size(), 2u);
  EXPECT_EQ(recorded_[0]->values[0].key.step, 3u);
  EXPECT_EQ(recorded_[0]->marks.size(), 4u);
  ASSERT_EQ(recorded_[0]->begun.size(), 2u);
  EXPECT_EQ(recorded_[0]->begun[1].step, 4u);
  EXPECT_EQ(recorded_[0]->ended_ops, 2);

  EXPECT_EQ(Set(false).state(), v1::RecordingStatus::STATE_STOPPING);
  TakeStep();
  WaitUntilOff();
  EXPECT_EQ(recorded_[0]->closed, "closed");
  EXPECT_EQ(recorded_[0]->values.size(), 3u);
  EXPECT_EQ(recorded_[0]->graph, std::vector<std::string>{"a"});
  TakeStep();
  EXPECT_EQ(recorded_[0]->values.size(), 3u);
}

TEST_F(AgentRecordingTest, ASecondRecordingHasTheWholeGraphAgain) {
  for (int i = 0; i < 2; ++i) {
    Set(true, "", kAll);
    TakeStep();
    TakeStep();
    Set(false);
    TakeStep();
    WaitUntilOff();
  }
  ASSERT_EQ(recorded_.size(), 2u);
  EXPECT_EQ(recorded_[1]->graph, std::vector<std::string>{"a"});
  EXPECT_FALSE(recorded_[1]->values.empty());
  EXPECT_EQ(opened_[0].directory, "runs");
  // It continues the first one.
  EXPECT_EQ(opened_[1].run, "job");
}

TEST_F(AgentRecordingTest, NodesThatAreDeclaredMeanwhileAreRecorded) {
  Set(true, "", kAll);
  const uint32_t later = Declare("b");
  TakeStep();
  Execute(later, {3});
  TakeStep();
  Set(false);
  TakeStep();
  WaitUntilOff();
  EXPECT_EQ(recorded_[0]->values[0].key.node, later);
}

TEST_F(AgentRecordingTest, HasWhatTheUserChanges) {
  Set(true, "", kAll);
  TakeStep();
  v1::Command pause;
  pause.mutable_pause();
  server_->Command(pause);
  std::vector<float> values = {1, 2, 3};
  auto stopped = Stop([&] {
    Execute(node_, values);
    EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK);
  });
  v1::TensorRequest request;
  request.mutable_change()->set_by("alice");
  request.mutable_change()->mutable_set_learning_rate()->set_value(0);
  EXPECT_EQ(server_->Ask(request).data(), "learning rate 0.1 -> 0");
  request.mutable_change()->mutable_set_values()->add_values(NAN);
  request.set_node("a");
  request.set_slice_text("[1:]");
  const std::string text = "a:0 [1:]: 2 elements, 2 to 3 (mean 2.5) -> NaN";
  EXPECT_EQ(server_->Ask(request).data(), text);
  Resume(&stopped);
  EXPECT_TRUE(std::isnan(values[2]));
  ASSERT_EQ(recorded_[0]->user_changes.size(), 2u);
  const v1::UserChange& of_rate = recorded_[0]->user_changes[0];
  EXPECT_EQ(of_rate.text(), "learning rate 0.1 -> 0");
  EXPECT_EQ(of_rate.step(), 3u);
  EXPECT_EQ(of_rate.by(), "alice");
  EXPECT_GT(of_rate.time_unix_nano(), 0);
  EXPECT_EQ(of_rate.node_id(), 0u);
  EXPECT_EQ(recorded_[0]->user_changes[1].text(), text);
  EXPECT_EQ(recorded_[0]->user_changes[1].node_id(), node_);
}

TEST_F(AgentRecordingTest, SaysWhyNothingIsRecorded) {
  v1::RecordingStatus status = Set(true, "/full");
  EXPECT_EQ(status.state(), v1::RecordingStatus::STATE_OFF);
  EXPECT_EQ(status.error().reason(), "recording_failed");
  EXPECT_THAT(status.error().message(), HasSubstr("the disk of /full is full"));
  status = Set(true, "/there", R"({"record": {"level": "much"}})");
  EXPECT_THAT(status.error().message(), HasSubstr("level: expected"));
  status = Set(true, "/there",
               R"({"collections": [{"name": "x", "include": ["("]}]})");
  EXPECT_THAT(status.error().message(), HasSubstr("("));
  EXPECT_TRUE(opened_.empty());
  TakeStep();
}

TEST_F(AgentRecordingTest, OtherSettingsBeginANewRun) {
  Set(true, "/first", kAll);
  TakeStep();
  // Nothing is new.
  EXPECT_FALSE(Set(true).has_error());
  EXPECT_EQ(recorded_.size(), 1u);
  v1::ServerMessage message;
  message.mutable_set_recording()->set_id(90);
  message.mutable_set_recording()->set_on(true);
  message.mutable_set_recording()->set_directory("/second");
  server_->Send(message);
  while (opened_count_ < 2) TakeStep();
  server_->WaitFor([](const v1::AgentMessage& m) {
    return m.has_recording_status() && m.recording_status().id() == 90;
  });
  EXPECT_EQ(recorded_[0]->closed, "closed");
  EXPECT_EQ(opened_[1].directory, "/second");
}

TEST_F(AgentRecordingTest, MoreIsRecordedForSomeSteps) {
  const uint32_t other = Declare("other");
  const auto step = [&] {
    Execute(other, {3});
    TakeStep();
  };
  Set(true, "", R"({"collections": [{"name": "a", "include": ["^a$"]}]})");
  step();
  step();
  EXPECT_TRUE(recorded_[0]->tensors.empty());
  // The collection of the recording, and one that it does not have.
  EXPECT_FALSE(Boost("{}", 2).has_error());
  EXPECT_FALSE(Boost(R"({"record": {"level": "tensors"},
                         "collections": [{"name": "all"}]})",
                     1)
                   .has_error());
  // The step in progress is not affected.
  for (int i = 0; i < 4; ++i) step();
  EXPECT_EQ(SavedSteps(node_), (std::vector<uint64_t>{5, 6}));
  EXPECT_EQ(SavedSteps(other), std::vector<uint64_t>{5});
  // The statistics of each collection are recorded once.
  const auto in_step_5 =
      std::count_if(recorded_[0]->values.begin(), recorded_[0]->values.end(),
                    [](const auto& value) { return value.key.step == 5; });
  EXPECT_EQ(in_step_5, 2);
  // The same boost again.
  EXPECT_FALSE(Boost("{}", 1).has_error());
  step();
  step();
  EXPECT_EQ(SavedSteps(node_), (std::vector<uint64_t>{5, 6, 9}));
}

TEST_F(AgentRecordingTest, ReportsWhyNoMoreIsRecorded) {
  EXPECT_THAT(Boost("{}", 1).error().message(), HasSubstr("is not recorded"));
  Set(true, "", kAll);
  TakeStep();
  EXPECT_THAT(Boost(R"({"record": {"level": "much"}})", 1).error().message(),
              HasSubstr("level: expected"));
  EXPECT_THAT(Boost(R"({"collections": [{"name": "x", "include": ["("]}]})", 1)
                  .error()
                  .message(),
              HasSubstr("("));
  TakeStep();
}

TEST_F(AgentRecordingTest, TheEndOfTheProgramEndsTheRecording) {
  Set(true, "", kAll);
  TakeStep();
  TakeStep();
  agent_->Close(graphdbg_ending{});
  EXPECT_EQ(recorded_[0]->closed, "exit");
}

TEST_F(AgentRecordingTest, WhatHasNotBegunIsClosedAsWell) {
  Set(true, "", kAll);
  EXPECT_EQ(Set(false).state(), v1::RecordingStatus::STATE_OFF);
  EXPECT_EQ(recorded_[0]->closed, "closed");
  TakeStep();
  EXPECT_TRUE(recorded_[0]->marks.empty());
}

TEST_F(AgentRecordingTest, TheEndReportsWhereTheRecordingIs) {
  Set(true, "/there", kAll);
  TakeStep();
  agent_->Close({});
  const v1::AgentMessage last = server_->WaitFor([](const v1::AgentMessage& m) {
    return m.has_recording_status() &&
           m.recording_status().state() == v1::RecordingStatus::STATE_OFF;
  });
  EXPECT_EQ(last.recording_status().directory(), "/runs/job");
}

class AgentRecordingRefusedTest : public AgentRecordingTest {
 protected:
  AgentRecordingRefusedTest() { config_.allowed.change = false; }
};

TEST_F(AgentRecordingRefusedTest, TheOwnerHasToAllowIt) {
  const v1::RecordingStatus status = Set(true, "/there");
  EXPECT_EQ(status.error().reason(), "not_allowed_by_job");
  EXPECT_TRUE(opened_.empty());
}

}  // namespace
}  // namespace graphdbg::agent
