// Processes of a job that connect, disconnect and reconnect, alone and in
// groups.
#include <memory>
#include <string>

#include "server/base/error.h"
#include "tests/integration/server_fixture.h"

namespace graphdbg::integration {
namespace {

using model::ControlVerb;
using model::Event;
using model::JobState;

class JobProcessesTest : public ServerFixture {};

TEST_F(JobProcessesTest, IsLostWhenTheStreamBreaksAndAnswersPendingRequests) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  auto command = Control(*job, ControlVerb::kContinue);
  ASSERT_TRUE(command.ok());
  model::TensorQuery query;
  query.node = "forward/log";
  auto tensor = Begin(job->Tensor(query));
  EXPECT_TRUE(agent.Receive().has_command());
  EXPECT_TRUE(agent.Receive().has_tensor_request());
  agent.Break();
  WaitForState("digits", JobState::kLost);
  EXPECT_EQ(ReasonOf(tensor.get().status()), "job_gone");
  EXPECT_EQ(WaitForEnd(*command).level, "error");
  EXPECT_EQ(ReasonOf(Control(*job, ControlVerb::kContinue).status()),
            "invalid_state");
  EXPECT_EQ(ReasonOf(Await(job->Tensor(query)).status()), "job_gone");
}

TEST_F(JobProcessesTest, IsNotLostIfItWasOrderedToTerminate) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  ASSERT_TRUE(Control(*job, ControlVerb::kTerminate).ok());
  EXPECT_TRUE(agent.Receive().command().has_terminate());
  agent.Break();
  WaitForState("digits", JobState::kTerminated);
}

TEST_F(JobProcessesTest, LetsAProcessComeBackToItsRank) {
  Start();
  const v1::Hello hello = ScriptedAgent::MakeHello("digits");
  ScriptedAgent agent(port());
  auto job = StartJob(agent, hello);
  model::WatchpointSpec spec;
  spec.condition.id = "nan";
  ASSERT_TRUE(Await(job->AddWatchpoint(spec)).ok());
  ASSERT_TRUE(Await(job->AddWatchpoint(spec)).ok());
  agent.Break();
  WaitForState("digits", JobState::kLost);
  // It receives the changes made in the meantime.
  ASSERT_TRUE(Await(job->RemoveWatchpoint(1)).ok());

  const size_t from = Events().size();
  ScriptedAgent again(port());
  const v1::Welcome welcome = again.Join(hello);
  EXPECT_EQ(welcome.job(), "digits");
  EXPECT_EQ(welcome.watchpoint_count(), 1u);
  EXPECT_EQ(again.Receive().set_watchpoint().id(), 2u);
  EXPECT_EQ(again.Receive().remove_watchpoint().id(), 1u);
  // It continues with the nodes that it reported before.
  again.SendPaused(v1::PAUSE_REASON_NODE, 4, 3);
  EXPECT_EQ(WaitForState("digits", JobState::kPaused, from).job_info->node,
            "forward/log");
  EXPECT_EQ(directory().Jobs().size(), 1u);
}

TEST_F(JobProcessesTest, GivesANewRunOfAnEndedJobAJobOfItsOwn) {
  Start();
  ScriptedAgent first(port());
  auto ended = StartJob(first, ScriptedAgent::MakeHello("digits"));
  first.SendGoodbye(0, 5);
  EXPECT_TRUE(first.End().ok());
  WaitForState("digits", JobState::kFinished);

  ScriptedAgent second(port());
  EXPECT_EQ(second.Join(ScriptedAgent::MakeHello("digits")).job(), "digits-2");
  second.Break();
  WaitForState("digits-2", JobState::kLost);
  ScriptedAgent third(port());
  EXPECT_EQ(third.Join(ScriptedAgent::MakeHello("digits")).job(), "digits-3");
  EXPECT_EQ(directory().Jobs().size(), 3u);
  EXPECT_EQ(Await(ended->Describe())->state, JobState::kFinished);
}

TEST_F(JobProcessesTest, RefusesASecondProcessThatClaimsALiveRank) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits", 0, 2));
  ScriptedAgent rival(port());
  ASSERT_TRUE(rival.SendHello(ScriptedAgent::MakeHello("digits", 0, 2)));
  EXPECT_EQ(rival.Receive().message_case(), v1::ServerMessage::MESSAGE_NOT_SET);
  const grpc::Status status = rival.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_NE(status.error_message().find("process 1000"), std::string::npos);
  // The first one is not affected.
  EXPECT_TRUE(Control(*job, ControlVerb::kContinue).ok());
  EXPECT_TRUE(agent.Receive().has_command());
}

TEST_F(JobProcessesTest, GivesProgramsOfOneProcessThatRunAtOnceJobsOfTheirOwn) {
  Start();
  ScriptedAgent agent(port());
  StartJob(agent, ScriptedAgent::MakeHello("digits"));
  ScriptedAgent other(port());
  EXPECT_EQ(other.Join(ScriptedAgent::MakeHello("digits")).job(), "digits-2");
  EXPECT_EQ(directory().Jobs().size(), 2u);
}

TEST_F(JobProcessesTest, KeepsTwoJobsApart) {
  Start();
  ScriptedAgent one(port());
  ScriptedAgent two(port());
  auto first = StartJob(one, ScriptedAgent::MakeHello("one"));
  auto second = StartJob(two, ScriptedAgent::MakeHello("two"));
  model::WatchpointSpec spec;
  spec.condition.id = "nan";
  ASSERT_TRUE(Await(second->AddWatchpoint(spec)).ok());
  EXPECT_TRUE(two.Receive().has_set_watchpoint());
  ASSERT_TRUE(Control(*first, ControlVerb::kContinue).ok());
  // The command is the first message.
  EXPECT_TRUE(one.Receive().has_command());
  EXPECT_TRUE(Await(first->Watchpoints())->empty());
  EXPECT_EQ(Await(second->Describe())->state, JobState::kPaused);
}

TEST_F(JobProcessesTest, IsPausedOnceAllRanksAre) {
  Start();
  ScriptedAgent zero(port());
  ScriptedAgent one(port());
  auto job = StartJob(zero, ScriptedAgent::MakeHello("pair", 0, 2));
  model::WatchpointSpec spec;
  spec.condition.id = "nan";
  ASSERT_TRUE(Await(job->AddWatchpoint(spec)).ok());
  one.Join(ScriptedAgent::MakeHello("pair", 1, 2));
  // A rank that connects later receives the existing watchpoints.
  EXPECT_TRUE(one.Receive().has_set_watchpoint());
  EXPECT_EQ(Await(job->Describe())->state, JobState::kConnecting);
  const size_t from = Events().size();
  one.SendGraph(SmallGraph());
  one.SendPaused(v1::PAUSE_REASON_START, 0);
  WaitForState("pair", JobState::kPaused, from);
  EXPECT_EQ(Await(job->Describe())->world_size, 2u);
  EXPECT_EQ(Await(job->Graphs())->at(0).node_count, 4u);

  EXPECT_TRUE(zero.Receive().has_set_watchpoint());
  auto id = Control(*job, ControlVerb::kContinue);
  const uint64_t command = zero.Receive().command().id();
  EXPECT_EQ(one.Receive().command().id(), command);
  zero.SendRunning(1);
  zero.SendOutcome(command);
  one.SendRunning(1);
  one.SendOutcome(command);
  EXPECT_EQ(WaitForEnd(*id).job_info->state, JobState::kRunning);
}

class TwoRanksTest : public JobProcessesTest {
 protected:
  // Both ranks wait before their first step and then run.
  void StartRunning() {
    Start();
    job_ = StartJob(zero(), ScriptedAgent::MakeHello("pair", 0, 2));
    one().Join(ScriptedAgent::MakeHello("pair", 1, 2));
    const size_t from = Events().size();
    one().SendGraph(SmallGraph());
    one().SendPaused(v1::PAUSE_REASON_START, 0);
    WaitForState("pair", JobState::kPaused, from);
    auto id = Control(job(), ControlVerb::kContinue);
    for (ScriptedAgent* rank : {&zero(), &one()}) {
      const v1::Command command = rank->Receive().command();
      rank->SendRunning(1);
      rank->SendOutcome(command.id());
    }
    WaitForEnd(*id);
  }

  ScriptedAgent& zero() { return At(zero_); }
  ScriptedAgent& one() { return At(one_); }
  jobs::Job& job() { return *job_; }

 private:
  ScriptedAgent& At(std::unique_ptr<ScriptedAgent>& rank) {
    if (rank == nullptr) rank = std::make_unique<ScriptedAgent>(port());
    return *rank;
  }

  std::unique_ptr<ScriptedAgent> zero_;
  std::unique_ptr<ScriptedAgent> one_;
  std::shared_ptr<jobs::Job> job_;
};

TEST_F(TwoRanksTest, TerminateOnceTheyHaveReachedTheSameStep) {
  StartRunning();
  auto id = Control(job(), ControlVerb::kTerminate);
  ASSERT_TRUE(id.ok());
  const v1::Command first = zero().Receive().command();
  const v1::Command second = one().Receive().command();
  EXPECT_TRUE(first.pause().at_step_end());
  EXPECT_TRUE(second.pause().at_step_end());
  zero().SendOutcome(first.id());
  zero().SendPaused(v1::PAUSE_REASON_USER, 1);
  one().SendOutcome(second.id());
  one().SendPaused(v1::PAUSE_REASON_USER, 1);
  for (ScriptedAgent* rank : {&zero(), &one()}) {
    const v1::Command command = rank->Receive().command();
    EXPECT_TRUE(command.has_terminate());
    rank->SendOutcome(command.id());
  }
  EXPECT_EQ(WaitForEnd(*id).level, "");
}

// One rank is blocked forever; the user does not have to wait for it.
TEST_F(TwoRanksTest, TerminateAtOnceOnTheSecondRequest) {
  StartRunning();
  auto patient = Control(job(), ControlVerb::kTerminate);
  const v1::Command stop = zero().Receive().command();
  EXPECT_TRUE(stop.pause().at_step_end());
  EXPECT_TRUE(one().Receive().command().has_pause());
  zero().SendOutcome(stop.id());
  zero().SendPaused(v1::PAUSE_REASON_USER, 1);
  auto impatient = Control(job(), ControlVerb::kTerminate);
  ASSERT_TRUE(impatient.ok());
  for (ScriptedAgent* rank : {&zero(), &one()}) {
    for (int times = 0; times < 2; ++times) {
      const v1::Command command = rank->Receive().command();
      EXPECT_TRUE(command.has_terminate());
      rank->SendOutcome(command.id());
    }
    rank->SendGoodbye(130, 1, true);
  }
  EXPECT_EQ(WaitForEnd(*patient).level, "");
  EXPECT_EQ(WaitForEnd(*impatient).level, "");
  WaitForState("pair", JobState::kTerminated);
}

}  // namespace
}  // namespace graphdbg::integration
