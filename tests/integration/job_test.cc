// The life of a job, from the points of view of agents and clients.
#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "server/base/error.h"
#include "server/base/memory_budget.h"
#include "tests/integration/server_fixture.h"

namespace graphdbg::integration {
namespace {

using model::ControlRequest;
using model::ControlVerb;
using model::Event;
using model::JobState;
using model::PauseReason;

class JobTest : public ServerFixture {};

TEST_F(JobTest, DescribesTheJobWhichWaitsBeforeItsFirstStep) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  auto info = Await(job->Describe());
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->id, "digits");
  EXPECT_EQ(info->name, "train.py");
  EXPECT_EQ(info->framework, "pytorch");
  EXPECT_EQ(info->state, JobState::kPaused);
  EXPECT_EQ(info->pause_reason, PauseReason::kStart);
  EXPECT_EQ(info->step, 0u);
  ASSERT_EQ(info->ranks.size(), 1u);
  EXPECT_EQ(info->ranks[0].pid, 1000u);
  EXPECT_EQ(info->ranks[0].peer.rfind("127.0.0.1:", 0), 0u);
  EXPECT_EQ(directory().Jobs().size(), 1u);
}

// Lists of all jobs use the last known state, so that they do not wait for the
// busiest job.
TEST_F(JobTest, ItsLastKnownStateIsAvailableWhileItIsBusy) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  absl::Notification busy;
  absl::Notification released;
  // Subscribers run on the job's strand.
  const auto blocker =
      directory().Subscribe([&](const std::shared_ptr<const Event>& event) {
        if (!event->job_info || event->job_info->step != 1) return;
        if (busy.HasBeenNotified()) return;
        busy.Notify();
        released.WaitForNotification();
      });
  ASSERT_TRUE(agent.SendRunning(1));
  busy.WaitForNotification();
  auto described = Begin(job->Describe());
  EXPECT_EQ(job->LastKnown()->id, "digits");
  EXPECT_EQ(job->LastKnown()->state, JobState::kRunning);
  EXPECT_EQ(job->LastKnown()->step, 1u);
  EXPECT_NE(described.wait_for(std::chrono::seconds(0)),
            std::future_status::ready);
  released.Notify();
  EXPECT_EQ(described.get()->step, 1u);
}

TEST_F(JobTest, ItsLastKnownStateCountsHits) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  model::WatchpointSpec spec;
  spec.condition.id = "nan";
  ASSERT_TRUE(Await(job->AddWatchpoint(spec)).ok());
  v1::AgentMessage message;
  message.mutable_hit()->set_watchpoint(1);
  message.mutable_hit()->set_revision(1);
  message.mutable_hit()->set_node_id(3);
  ASSERT_TRUE(agent.Send(message));
  WaitFor([](const Event& event) { return event.type == Event::Type::kHit; });
  // The first call returns after the hit has been processed, the second one
  // after the update that this has scheduled.
  ASSERT_TRUE(Await(job->Describe()).ok());
  ASSERT_TRUE(Await(job->Describe()).ok());
  EXPECT_EQ(job->LastKnown()->hit_count, 1u);
}

TEST_F(JobTest, DoesNotGrowWhenTheServerHasNoMemory) {
  jobs::JobOptions options;
  options.memory = std::make_shared<MemoryBudget>(uint64_t{100} << 20);
  const auto memory = options.memory;
  Start(options);
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  EXPECT_GT(memory->used(MemoryAccount::kJobs), 0u);
  const auto full =
      memory->Count(MemoryAccount::kResponses, uint64_t{100} << 20);
  // Reports that need no memory are processed.
  ASSERT_TRUE(agent.SendRunning(1));
  WaitForState("digits", JobState::kRunning);
  v1::Node node = SmallGraph()[0];
  node.set_id(9);
  node.set_name("forward/more");
  agent.SendGraph({node});
  const grpc::Status ended = agent.End();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(ended.error_message().find("--max-memory"), std::string::npos);
  EXPECT_FALSE(Await(job->Node("forward/more")).ok());
}

TEST_F(JobTest, NewJobsAreRefusedWhenTheServerHasNoMemory) {
  jobs::JobOptions options;
  options.memory = std::make_shared<MemoryBudget>(uint64_t{100} << 20);
  const auto memory = options.memory;
  Start(options);
  ScriptedAgent ended(port());
  StartJob(ended, ScriptedAgent::MakeHello("ended"));
  ended.SendGoodbye(0, 1);
  EXPECT_TRUE(ended.End().ok());
  WaitForState("ended", JobState::kFinished);
  const auto full =
      memory->Count(MemoryAccount::kResponses, uint64_t{96} << 20);
  // A job that has ended makes room for a new one.
  ScriptedAgent first(port());
  first.Join(ScriptedAgent::MakeHello("first"));
  EXPECT_EQ(directory().Find("ended"), nullptr);
  ScriptedAgent second(port());
  EXPECT_TRUE(second.SendHello(ScriptedAgent::MakeHello("second")));
  EXPECT_EQ(second.End().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(JobTest, LearnsOfTheDeviceWhenTheProgramHasTensorsThere) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  EXPECT_EQ(Await(job->Describe())->ranks.at(0).device, "cpu");

  v1::AgentMessage state;
  state.mutable_state()->set_state(v1::RUN_STATE_PAUSED);
  state.mutable_state()->set_step(1);
  state.mutable_state()->set_device("cuda");
  state.mutable_state()->set_device_id(3);
  ASSERT_TRUE(agent.Send(state));
  const Event reported = WaitFor([](const Event& event) {
    return event.job_info && event.job_info->step == 1;
  });
  EXPECT_EQ(reported.job_info->ranks.at(0).device, "cuda");
  EXPECT_EQ(reported.job_info->ranks.at(0).device_id, 3);
}

TEST_F(JobTest, ShowsTheGraphByScopes) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));

  auto graphs = Await(job->Graphs());
  ASSERT_TRUE(graphs.ok());
  ASSERT_EQ(graphs->size(), 1u);
  EXPECT_EQ(graphs->at(0).node_count, 4u);
  EXPECT_EQ(graphs->at(0).edge_count, 3u);

  auto view = Await(job->Scope("", "forward", {}));
  ASSERT_TRUE(view.ok());
  ASSERT_EQ(view->nodes.size(), 2u);
  EXPECT_EQ(view->nodes[0].name, "forward/conv1");
  EXPECT_EQ(view->nodes[0].op_type, "Conv2d");
  EXPECT_EQ(view->nodes[0].descendant_count, 2u);
  EXPECT_EQ(view->nodes[1].name, "forward/log");
  ASSERT_EQ(view->edges.size(), 1u);
  EXPECT_EQ(view->edges[0].from, "forward/conv1");
  EXPECT_EQ(view->edges[0].to, "forward/log");

  auto node = Await(job->Node("backward/log/log_backward"));
  ASSERT_TRUE(node.ok());
  // A backward op has the source line of its forward op.
  ASSERT_TRUE(node->node.source.has_value());
  EXPECT_EQ(node->node.source->line, 12u);
  ASSERT_EQ(node->inputs.size(), 1u);
  EXPECT_EQ(node->inputs[0].node, "forward/log");
  EXPECT_EQ(ReasonOf(Await(job->Node("forward/none")).status()),
            "unknown_node");
}

TEST_F(JobTest, PushesWatchpointsAndRecordsHitsBeforeThePauseTheyCaused) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));

  model::WatchpointSpec spec;
  spec.condition.id = "inf";
  auto made = Await(job->AddWatchpoint(spec));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->id, 1u);
  EXPECT_EQ(made->node_count, 4u);
  const v1::ServerMessage pushed = agent.Receive();
  ASSERT_TRUE(pushed.has_set_watchpoint());
  EXPECT_EQ(pushed.set_watchpoint().condition().id(), "inf");
  EXPECT_TRUE(pushed.set_watchpoint().enabled());

  v1::AgentMessage message;
  v1::Hit& hit = *message.mutable_hit();
  hit.set_watchpoint(1);
  hit.set_revision(pushed.set_watchpoint().revision());
  hit.set_step(7);
  hit.set_node_id(3);
  hit.set_order(2);
  (*hit.mutable_actual())["neg_inf_count"] = 2;
  hit.mutable_statistics()->set_count(6);
  hit.mutable_statistics()->set_neg_inf_count(2);
  hit.mutable_statistics()->set_max(-1);
  hit.set_origin(v1::HIT_ORIGIN_ORIGIN);
  ASSERT_TRUE(agent.Send(message));
  ASSERT_TRUE(agent.SendPaused(v1::PAUSE_REASON_WATCHPOINT, 7, 3, {1}));

  const Event paused = WaitFor([](const Event& event) {
    return event.job_info &&
           event.job_info->pause_reason == PauseReason::kWatchpoint;
  });
  EXPECT_EQ(paused.job_info->node, "forward/log");
  EXPECT_EQ(paused.job_info->step, 7u);
  EXPECT_EQ(paused.job_info->stopped_by, std::vector<uint32_t>{1});
  EXPECT_EQ(paused.job_info->hit_count, 1u);
  const Event reported =
      WaitFor([](const Event& event) { return event.hit.has_value(); });
  EXPECT_LT(reported.seq, paused.seq);

  auto hits = Await(job->Hits({}));
  ASSERT_TRUE(hits.ok());
  ASSERT_EQ(hits->hits.size(), 1u);
  EXPECT_EQ(hits->hits[0].node, "forward/log");
  EXPECT_EQ(hits->hits[0].condition->id, "inf");
  EXPECT_EQ(hits->hits[0].source->line, 12u);
  EXPECT_EQ(hits->hits[0].statistics.neg_inf_count, 2u);
  EXPECT_FALSE(hits->hits[0].statistics.min.has_value());

  auto scope = Await(job->Scope("", "", {}));
  ASSERT_TRUE(scope.ok());
  EXPECT_EQ(scope->nodes[0].name, "forward");
  EXPECT_EQ(scope->nodes[0].hit_count, 1u);
  EXPECT_EQ(scope->nodes[0].watched, model::Watched::kAll);
  // The statistics of a hit are known for its tensor.
  auto tensors = Await(job->Tensors("backward/log/log_backward", 0));
  ASSERT_TRUE(tensors.ok());
  ASSERT_EQ(tensors->size(), 2u);
  EXPECT_EQ(tensors->at(0).role, "input");
  ASSERT_TRUE(tensors->at(0).statistics.has_value());
  EXPECT_EQ(tensors->at(0).statistics_step, 7u);
}

TEST_F(JobTest, ReportsDroppedHits) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  v1::AgentMessage message;
  message.mutable_log()->set_message("7 hits were not recorded");
  message.mutable_log()->set_dropped_hits(7);
  ASSERT_TRUE(agent.Send(message));
  ASSERT_TRUE(agent.Send(message));
  const Event reported = WaitFor([](const Event& event) {
    return event.job_info && event.job_info->dropped_hit_count == 14;
  });
  EXPECT_EQ(reported.job_info->hit_count, 0u);
}

TEST_F(JobTest, AnnouncesCommandsBeforeTheyTakeEffect) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  ControlRequest request;
  request.verb = ControlVerb::kStep;
  request.steps = 3;
  request.client = "graphdbg";
  const auto id = Await(job->Control(request));
  ASSERT_TRUE(id.ok()) << id.status();
  const Event reported =
      WaitFor([](const Event& event) { return event.command.has_value(); });
  EXPECT_EQ(reported.command_id, *id);
  EXPECT_EQ(reported.command->verb, ControlVerb::kStep);
  EXPECT_EQ(reported.command->steps, 3u);
  EXPECT_EQ(reported.command->client, "graphdbg");
  // The state no longer accepts it, so no event is published.
  EXPECT_FALSE(Await(job->Control(request)).ok());
}

TEST_F(JobTest, NumbersEventsOfAJobWithoutGaps) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  ASSERT_TRUE(Control(*job, ControlVerb::kContinue).ok());
  ASSERT_TRUE(agent.SendRunning(1));
  ASSERT_TRUE(agent.SendGoodbye(0, 3));
  WaitForState("digits", JobState::kFinished);
  uint64_t last = 0;
  for (const Event& event : Events()) EXPECT_EQ(event.seq, ++last);
}

TEST_F(JobTest, SendsCommandsAndReportsTheirResults) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));

  auto step = Control(*job, ControlVerb::kStep, "", 3);
  ASSERT_TRUE(step.ok()) << step.status();
  v1::Command first = agent.Receive().command();
  EXPECT_EQ(first.step().steps(), 3u);
  EXPECT_EQ(std::to_string(first.id()), *step);
  agent.SendRunning(1);
  agent.SendOutcome(first.id());
  EXPECT_EQ(WaitForEnd(*step).message, "");

  // A running job does not accept a step.
  auto refused = Control(*job, ControlVerb::kStep);
  EXPECT_EQ(ReasonOf(refused.status()), "invalid_state");
  EXPECT_NE(refused.status().message().find("running"), std::string::npos);

  auto pause = Control(*job, ControlVerb::kPause);
  ASSERT_TRUE(pause.ok());
  WaitForState("digits", JobState::kPausing);
  v1::Command second = agent.Receive().command();
  EXPECT_TRUE(second.has_pause());
  EXPECT_GT(second.id(), first.id());
  // A report that the job still runs does not answer the pending pause.
  agent.SendRunning(2);
  const size_t from = Events().size();
  agent.SendPaused(v1::PAUSE_REASON_USER, 2);
  agent.SendOutcome(second.id());
  EXPECT_EQ(
      WaitForState("digits", JobState::kPaused, from).job_info->pause_reason,
      PauseReason::kUser);
}

TEST_F(JobTest, RefusesASecondResumeWhileTheFirstIsPending) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  ASSERT_TRUE(Control(*job, ControlVerb::kContinue).ok());
  EXPECT_EQ(ReasonOf(Control(*job, ControlVerb::kContinue).status()),
            "invalid_state");
}

TEST_F(JobTest, ReportsACommandThatTheAgentRefused) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  auto id = Control(*job, ControlVerb::kNextNode);
  ASSERT_TRUE(id.ok());
  agent.SendOutcome(agent.Receive().command().id(), "no node comes");
  const Event end = WaitForEnd(*id);
  EXPECT_EQ(end.level, "error");
  EXPECT_NE(end.message.find("no node comes"), std::string::npos);
  // The job is still paused and accepts another command.
  EXPECT_TRUE(Control(*job, ControlVerb::kContinue).ok());
}

TEST_F(JobTest, KnowsTheNodesToContinueTo) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  EXPECT_EQ(ReasonOf(Control(*job, ControlVerb::kContinueTo, "no").status()),
            "unknown_node");
  EXPECT_EQ(FieldOf(Control(*job, ControlVerb::kStep, "", 0).status()),
            "steps");
  ASSERT_TRUE(Control(*job, ControlVerb::kContinueTo, "forward/log").ok());
  EXPECT_EQ(agent.Receive().command().continue_to().node(), "forward/log");
}

TEST_F(JobTest, ContinuesToANodeThatIsNotKnownYetIfAskedTo) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  model::ControlRequest request;
  request.verb = ControlVerb::kContinueTo;
  request.node = "forward/later";
  request.pending = true;
  ASSERT_TRUE(Await(job->Control(request)).ok());
  const v1::Command command = agent.Receive().command();
  EXPECT_EQ(command.continue_to().node(), "forward/later");
  EXPECT_TRUE(command.continue_to().pending());
}

TEST_F(JobTest, RechecksWhatChangedSinceTheStop) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  model::WatchpointSpec spec;
  spec.condition.id = "nan";
  ASSERT_TRUE(Await(job->AddWatchpoint(spec)).ok());
  ASSERT_TRUE(Await(job->AddWatchpoint(spec)).ok());
  ASSERT_TRUE(Await(job->AddWatchpoint(spec)).ok());
  model::WatchpointChange off;
  off.enabled = false;
  ASSERT_TRUE(Await(job->ChangeWatchpoint(2, off)).ok());
  EXPECT_EQ(Await(job->Describe())->unchecked, (std::vector<uint32_t>{1, 3}));
  ASSERT_TRUE(Await(job->RemoveWatchpoint(1)).ok());
  for (int i = 0; i < 5; ++i) agent.Receive();

  auto recheck = Control(*job, ControlVerb::kRecheck);
  ASSERT_TRUE(recheck.ok()) << recheck.status();
  const v1::Command command = agent.Receive().command();
  ASSERT_EQ(command.recheck().watchpoints_size(), 1);
  EXPECT_EQ(command.recheck().watchpoints(0), 3u);
  agent.SendOutcome(command.id());
  EXPECT_EQ(WaitForEnd(*recheck).message, "");
  // The job stays paused, and every watchpoint has been checked.
  const auto info = Await(job->Describe());
  EXPECT_EQ(info->state, JobState::kPaused);
  EXPECT_TRUE(info->unchecked.empty());

  // Changes made during one stop are not rechecked during the next.
  ASSERT_TRUE(Await(job->AddWatchpoint(spec)).ok());
  const size_t from = Events().size();
  agent.SendRunning(1);
  agent.SendPaused(v1::PAUSE_REASON_STEP, 1);
  WaitForState("digits", JobState::kPaused, from);
  EXPECT_TRUE(Await(job->Describe())->unchecked.empty());
}

TEST_F(JobTest, OrdersTheAgentToCatchTensors) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  EXPECT_EQ(ReasonOf(Await(job->CatchTensors("no", 0, ""))), "unknown_node");
  EXPECT_EQ(ReasonOf(Await(job->CatchTensors("forward/log", 7, ""))),
            "unknown_rank");
  ASSERT_TRUE(Await(job->CatchTensors("forward/log", 0, "")).ok());
  EXPECT_EQ(agent.Receive().catch_tensor().node(), "forward/log");
  agent.Break();
  WaitForState("digits", JobState::kLost);
  EXPECT_EQ(ReasonOf(Await(job->CatchTensors("forward/log", 0, ""))),
            "job_gone");
}

TEST_F(JobTest, EndsAsTerminatedWhenTheAgentReportsIt) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  EXPECT_EQ(ReasonOf(Await(directory().Forget("digits"))), "invalid_state");
  auto id = Control(*job, ControlVerb::kTerminate);
  ASSERT_TRUE(id.ok());
  v1::Command command = agent.Receive().command();
  EXPECT_TRUE(command.has_terminate());
  agent.SendOutcome(command.id());
  agent.SendGoodbye(130, 2, true);
  EXPECT_TRUE(agent.End().ok());
  const Event end = WaitForState("digits", JobState::kTerminated);
  EXPECT_EQ(end.job_info->exit_code, 130);
  EXPECT_EQ(ReasonOf(Control(*job, ControlVerb::kTerminate).status()),
            "invalid_state");
  // The job's data remains until the job is forgotten.
  EXPECT_TRUE(Await(job->Node("forward/log")).ok());
  EXPECT_TRUE(Await(directory().Forget("digits")).ok());
  EXPECT_EQ(directory().Find("digits"), nullptr);
  EXPECT_EQ(ReasonOf(Await(directory().Forget("digits"))), "unknown_job");
}

TEST_F(JobTest, KeepsTheGraphAsAFileUntilItChanges) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  auto first = Await(job->Index(""));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*first)->gzip.substr(0, 2), "\x1f\x8b");
  EXPECT_GT((*first)->bytes, (*first)->gzip.size());
  EXPECT_EQ(*Await(job->Index("main")), *first);
  EXPECT_EQ(ReasonOf(Await(job->Index("other")).status()), "unknown_graph");
  const size_t from = Events().size();
  v1::Node more = SmallGraph()[1];
  more.set_id(77);
  more.set_name("forward/more");
  ASSERT_TRUE(agent.SendGraph({more}));
  WaitFor([](const Event& e) { return e.type == Event::Type::kGraph; }, from);
  auto second = Await(job->Index(""));
  ASSERT_TRUE(second.ok());
  EXPECT_NE((*second)->version, (*first)->version);

  auto page = Await(job->Export("", 0));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->graph, "main");
  EXPECT_EQ(page->nodes.size(), 5u);
  EXPECT_EQ(page->nodes[2].inputs.size(), 1u);
  EXPECT_EQ(page->next, 0u);
  EXPECT_EQ(ReasonOf(Await(job->Export("other", 0)).status()), "unknown_graph");
}

TEST_F(JobTest, MakesTheRecommendedWatchpointsOnce) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  EXPECT_TRUE(Await(job->Describe())->recommended_offered);
  auto first = Await(job->AddRecommended());
  ASSERT_TRUE(first.ok()) << first.status();
  const size_t size = first->watchpoints.size();
  EXPECT_GT(size, 5u);
  EXPECT_EQ(first->made.size(), size);
  EXPECT_FALSE(Await(job->Describe())->recommended_offered);
  for (size_t i = 0; i < size; ++i) {
    EXPECT_EQ(agent.Receive().set_watchpoint().id(), first->made[i]);
  }

  auto again = Await(job->AddRecommended());
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->made.empty());
  EXPECT_EQ(again->watchpoints.size(), size);
  // The removed one is created again, as a new watchpoint.
  ASSERT_TRUE(Await(job->RemoveWatchpoint(first->made[2])).ok());
  again = Await(job->AddRecommended());
  ASSERT_EQ(again->made.size(), 1u);
  EXPECT_EQ(again->watchpoints[2].id, again->made[0]);
  EXPECT_EQ(again->watchpoints[2].spec.condition.id,
            first->watchpoints[2].spec.condition.id);
  EXPECT_EQ(Await(job->Watchpoints())->size(), size);

  agent.SendGoodbye(0, 1);
  EXPECT_TRUE(agent.End().ok());
  WaitForState("digits", JobState::kFinished);
  EXPECT_FALSE(Await(job->Describe())->recommended_offered);
}

}  // namespace
}  // namespace graphdbg::integration
