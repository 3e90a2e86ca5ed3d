// Jobs across a restart of the server, from the points of view of agents and
// clients.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "proto/wire/capabilities.h"
#include "proto/wire/limits.h"
#include "server/base/error.h"
#include "server/store/store.h"
#include "tests/integration/server_fixture.h"

namespace graphdbg::integration {
namespace {

namespace fs = std::filesystem;
using model::Event;
using model::JobState;

class RestartTest : public ServerFixture {
 protected:
  RestartTest() {
    dir_ = fs::path(testing::TempDir()) /
           testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }

  jobs::JobOptions Options() {
    jobs::JobOptions options;
    auto journal = store::OpenStore(dir_.string());
    EXPECT_TRUE(journal.ok()) << journal.status();
    if (journal.ok()) options.journal = *journal;
    return options;
  }
  // Stops the server and starts another one on another port.
  void Restart(std::function<void(jobs::JobOptions&)> change = {}) {
    Stop();
    jobs::JobOptions options = Options();
    if (change) change(options);
    Start(std::move(options));
  }

  std::shared_ptr<jobs::Job> Find(const std::string& id) {
    auto job = directory().Find(id);
    EXPECT_NE(job, nullptr) << id;
    return job;
  }
  model::Job InfoOf(const std::string& id) {
    return *Await(Find(id)->Describe());
  }
  std::vector<model::Hit> HitsOf(const std::string& id) {
    return Await(Find(id)->Hits({}))->hits;
  }

  static model::WatchpointSpec Nan() {
    model::WatchpointSpec spec;
    spec.condition.id = "nan";
    return spec;
  }
  static v1::AgentMessage HitMessage(uint64_t number, uint64_t step) {
    v1::AgentMessage message;
    v1::Hit& hit = *message.mutable_hit();
    hit.set_number(number);
    hit.set_watchpoint(1);
    hit.set_revision(1);
    hit.set_step(step);
    hit.set_node_id(3);
    hit.set_order(2);
    return message;
  }
  // Returns the next message that is a confirmation.
  static uint64_t Confirmed(ScriptedAgent& agent) {
    while (true) {
      const v1::ServerMessage message = agent.Receive();
      if (message.has_hits_recorded()) return message.hits_recorded().through();
      if (message.message_case() == v1::ServerMessage::MESSAGE_NOT_SET) {
        ADD_FAILURE() << "the stream is over";
        return 0;
      }
    }
  }

  fs::path dir_;
};

TEST_F(RestartTest, TheSameProcessGoesOnWithItsNodesAndItsHits) {
  Start(Options());
  const v1::Hello hello = ScriptedAgent::MakeHello("digits");
  ScriptedAgent agent(port());
  ASSERT_TRUE(Await(StartJob(agent, hello)->AddWatchpoint(Nan())).ok());
  for (uint64_t number : {1, 2}) {
    ASSERT_TRUE(agent.Send(HitMessage(number, number)));
    EXPECT_EQ(Confirmed(agent), number);
  }
  const uint64_t last_seq = Events().back().seq;
  Restart();
  // The job exists before any agent connects, and waits for its agent.
  EXPECT_EQ(InfoOf("digits").state, JobState::kConnecting);
  EXPECT_EQ(HitsOf("digits").size(), 2u);
  ASSERT_FALSE(Events().empty());
  for (const Event& event : Events()) EXPECT_GT(event.seq, last_seq);

  ScriptedAgent again(port());
  EXPECT_EQ(again.Join(hello).job(), "digits");
  EXPECT_EQ(again.Receive().set_watchpoint().id(), 1u);
  // A resent hit and a new one, without sending the graph again.
  ASSERT_TRUE(again.Send(HitMessage(2, 2)));
  EXPECT_EQ(Confirmed(again), 2u);
  ASSERT_TRUE(again.Send(HitMessage(3, 3)));
  EXPECT_EQ(Confirmed(again), 3u);
  ASSERT_TRUE(again.SendPaused(v1::PAUSE_REASON_WATCHPOINT, 3, 3, {1}));
  const auto info = WaitForState("digits", JobState::kPaused).job_info;
  EXPECT_EQ(info->node, "forward/log");
  const auto hits = HitsOf("digits");
  ASSERT_EQ(hits.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(hits[i].id, i + 1);
    EXPECT_EQ(hits[i].step, i + 1);
    EXPECT_EQ(hits[i].condition->id, "nan");
  }
}

// The graph of SmallGraph, with a digest of each node.
v1::GraphUpdate OfferedGraph() {
  v1::GraphUpdate graph;
  for (v1::Node& node : SmallGraph()) {
    node.set_digest(
        std::string(wire::kDigestBytes, static_cast<char>('a' + node.id())));
    *graph.add_nodes() = node;
  }
  return graph;
}

TEST_F(RestartTest, AGraphThatIsKnownIsNotAskedForAgain) {
  Start(Options());
  v1::Hello hello = ScriptedAgent::MakeHello("digits", 0, 2);
  hello.add_capabilities(wire::kGraphOffer);
  v1::Hello hello_of_other = ScriptedAgent::MakeHello("digits", 1, 2);
  hello_of_other.add_capabilities(wire::kGraphOffer);
  v1::AgentMessage offer;
  v1::AgentMessage graph;
  *graph.mutable_graph() = OfferedGraph();
  for (const v1::Node& node : graph.graph().nodes()) {
    offer.mutable_graph_offer()->add_node_ids(node.id());
    offer.mutable_graph_offer()->mutable_digests()->append(node.digest());
  }
  const auto needed_by = [&offer](ScriptedAgent& agent) {
    EXPECT_TRUE(agent.Send(offer));
    const v1::ServerMessage answer = agent.Receive();
    EXPECT_TRUE(answer.has_needed_graph());
    return answer.needed_graph().nodes_size();
  };
  ScriptedAgent first(port());
  first.Join(hello);
  EXPECT_EQ(needed_by(first), 4);
  ASSERT_TRUE(first.Send(graph));
  // It is answered when the graph has been stored.
  EXPECT_EQ(needed_by(first), 0);
  ScriptedAgent second(port());
  second.Join(hello_of_other);
  EXPECT_EQ(needed_by(second), 0);
  Restart();

  ScriptedAgent again(port());
  again.Join(hello);
  EXPECT_EQ(needed_by(again), 0);
  ScriptedAgent other(port());
  other.Join(hello_of_other);
  EXPECT_EQ(needed_by(other), 0);
  ASSERT_TRUE(again.SendPaused(v1::PAUSE_REASON_NODE, 3, 3));
  ASSERT_TRUE(other.SendPaused(v1::PAUSE_REASON_NODE, 3, 2));
  WaitForState("digits", JobState::kPaused);
  const model::Job info = InfoOf("digits");
  ASSERT_EQ(info.ranks.size(), 2u);
  EXPECT_EQ(info.ranks[0].node, "forward/log");
  EXPECT_EQ(info.ranks[1].node, "forward/conv1/conv2d");
}

TEST_F(RestartTest, JobsThatEndedTooLongAgoAreForgotten) {
  auto now = std::make_shared<std::atomic<int64_t>>(int64_t{1} << 60);
  const auto advance = [now](std::chrono::nanoseconds by) {
    *now += by.count();
  };
  const auto limit = [now](jobs::JobOptions& options) {
    options.now_unix_nano = [now] { return now->load(); };
    options.max_age = std::chrono::hours(24);
  };
  Restart(limit);
  ScriptedAgent alive(port());
  StartJob(alive, ScriptedAgent::MakeHello("alive"));
  ScriptedAgent ended(port());
  StartJob(ended, ScriptedAgent::MakeHello("ended"));
  // Longer than the limit since the start, but not since the end.
  advance(std::chrono::hours(25));
  ended.Break();
  WaitForState("ended", JobState::kLost);
  directory().Trim();
  EXPECT_NE(directory().Find("ended"), nullptr);
  advance(std::chrono::hours(23));
  Restart(limit);
  directory().Trim();
  EXPECT_NE(directory().Find("ended"), nullptr);
  advance(std::chrono::hours(2));
  directory().Trim();
  EXPECT_EQ(directory().Find("ended"), nullptr);
  EXPECT_NE(directory().Find("alive"), nullptr);
}

TEST_F(RestartTest, HitsOfAProcessWithoutNumbersAreAllRecorded) {
  Start(Options());
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  ASSERT_TRUE(Await(job->AddWatchpoint(Nan())).ok());
  ASSERT_TRUE(agent.Send(HitMessage(0, 1)));
  ASSERT_TRUE(agent.Send(HitMessage(0, 1)));
  ASSERT_TRUE(agent.SendPaused(v1::PAUSE_REASON_STEP, 1));
  WaitFor([](const Event& event) {
    return event.job_info && event.job_info->step == 1;
  });
  EXPECT_EQ(HitsOf("digits").size(), 2u);
}

TEST_F(RestartTest, WatchpointsKeepTheirRevisionsAndIdsAreNotUsedAgain) {
  Start(Options());
  const v1::Hello hello = ScriptedAgent::MakeHello("digits");
  ScriptedAgent agent(port());
  auto job = StartJob(agent, hello);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Await(job->AddWatchpoint(Nan())).ok());
  }
  model::WatchpointChange change;
  change.pause = model::PauseMode::kNone;
  change.selection.emplace().nodes = {"forward/log"};
  ASSERT_TRUE(Await(job->ChangeWatchpoint(2, change)).ok());
  ASSERT_TRUE(Await(job->RemoveWatchpoint(3)).ok());
  ASSERT_TRUE(Await(job->RemoveWatchpoint(1)).ok());
  Restart();
  job = Find("digits");
  const auto infos = *Await(job->Watchpoints());
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_EQ(infos[0].id, 2u);
  EXPECT_EQ(infos[0].spec.pause, model::PauseMode::kNone);
  EXPECT_EQ(infos[0].node_count, 1u);
  EXPECT_EQ(Await(job->AddWatchpoint(Nan()))->id, 4u);
  ScriptedAgent again(port());
  EXPECT_EQ(again.Join(hello).watchpoint_count(), 2u);
  const v1::SetWatchpoint second = again.Receive().set_watchpoint();
  EXPECT_EQ(second.id(), 2u);
  EXPECT_EQ(second.revision(), 2u);
  EXPECT_EQ(again.Receive().set_watchpoint().id(), 4u);
  EXPECT_EQ(again.Receive().remove_watchpoint().id(), 1u);
  EXPECT_EQ(again.Receive().remove_watchpoint().id(), 3u);
}

TEST_F(RestartTest, AProcessThatDoesNotComeBackIsLost) {
  Start(Options());
  ScriptedAgent agent(port());
  StartJob(agent, ScriptedAgent::MakeHello("digits"));
  Restart([](jobs::JobOptions& options) {
    options.return_deadline = std::chrono::milliseconds(1);
  });
  WaitForState("digits", JobState::kLost);
  EXPECT_TRUE(Await(directory().Forget("digits")).ok());
  Restart();
  EXPECT_TRUE(directory().Jobs().empty());
}

TEST_F(RestartTest, AnotherProcessIsAnotherJob) {
  Start(Options());
  ScriptedAgent agent(port());
  const v1::Hello hello = ScriptedAgent::MakeHello("digits");
  StartJob(agent, hello);
  Restart();
  v1::Hello stranger = hello;
  stranger.set_incarnation("another");
  ScriptedAgent other(port());
  EXPECT_EQ(other.Join(stranger).job(), "digits-2");
  EXPECT_EQ(InfoOf("digits").state, JobState::kConnecting);
  // The process that was awaited still has its place.
  ScriptedAgent again(port());
  EXPECT_EQ(again.Join(hello).job(), "digits");
  ScriptedAgent third(port());
  stranger.set_incarnation("a third");
  EXPECT_EQ(third.Join(stranger).job(), "digits-3");
}

// Each rank may return to a job whose other ranks are still away, or run.
TEST_F(RestartTest, RanksThatComeBackOneByOneStayPaused) {
  constexpr uint32_t kRanks = 8;
  Start(Options());
  std::vector<v1::Hello> hellos;
  const auto connect = [&](uint32_t rank) {
    auto agent = std::make_unique<ScriptedAgent>(port());
    EXPECT_EQ(agent->Join(hellos[rank]).job(), "digits");
    EXPECT_TRUE(agent->SendPaused(v1::PAUSE_REASON_STEP, 5));
    return agent;
  };
  const auto await_all = [&] {
    const auto all_paused = [&] {
      const auto ranks = InfoOf("digits").ranks;
      return ranks.size() == kRanks &&
             std::all_of(ranks.begin(), ranks.end(), [](const auto& rank) {
               return rank.state == JobState::kPaused;
             });
    };
    while (!all_paused()) std::this_thread::yield();
  };
  std::vector<std::unique_ptr<ScriptedAgent>> agents;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    hellos.push_back(ScriptedAgent::MakeHello("digits", rank, kRanks));
    hellos.back().set_incarnation("process " + std::to_string(rank));
    agents.push_back(connect(rank));
  }
  await_all();
  Restart();
  // In another order than before.
  for (uint32_t rank = kRanks; rank-- > 0;) agents[rank] = connect(rank);
  await_all();
  EXPECT_EQ(InfoOf("digits").step, 5u);
  model::ControlRequest resume;
  ASSERT_TRUE(Await(Find("digits")->Control(resume)).ok());
  // Nothing was ordered before that.
  for (const auto& agent : agents) {
    EXPECT_TRUE(agent->Receive().command().has_continue_());
  }
}

TEST_F(RestartTest, AnEndedJobStaysAsItWas) {
  Start(Options());
  {
    ScriptedAgent agent(port());
    StartJob(agent, ScriptedAgent::MakeHello("digits"));
    agent.SendGoodbye(3, 7);
    EXPECT_TRUE(agent.End().ok());
  }
  WaitForState("digits", JobState::kFinished);
  const auto before = *Await(Find("digits")->Node("forward/log"));
  Restart();
  const model::Job info = InfoOf("digits");
  EXPECT_EQ(info.state, JobState::kFinished);
  EXPECT_EQ(info.exit_code, 3);
  EXPECT_EQ(info.step, 7u);
  const auto after = *Await(Find("digits")->Node("forward/log"));
  EXPECT_EQ(after.node.source->line, before.node.source->line);
  EXPECT_EQ(after.inputs.size(), before.inputs.size());
  EXPECT_EQ(after.consumers.size(), before.consumers.size());
  // A new run gets a job of its own, and keeps it after a restart.
  ScriptedAgent agent(port());
  EXPECT_EQ(agent.Join(ScriptedAgent::MakeHello("digits")).job(), "digits-2");
}

TEST_F(RestartTest, OldestEndedJobsGoWhenMemoryRunsOut) {
  Start(Options());
  ScriptedAgent alive(port());
  StartJob(alive, ScriptedAgent::MakeHello("a"));
  for (const char* id : {"b", "c"}) {
    ScriptedAgent agent(port());
    StartJob(agent, ScriptedAgent::MakeHello(id));
    agent.SendGoodbye(0, 1);
    EXPECT_TRUE(agent.End().ok());
    WaitForState(id, JobState::kFinished);
  }
  Restart([](jobs::JobOptions& options) { options.max_memory_bytes = 1; });
  EXPECT_EQ(directory().Jobs().size(), 3u);
  directory().Trim();
  EXPECT_EQ(directory().Find("b"), nullptr);
  directory().Trim();
  directory().Trim();
  // The removal event follows once the removal is durable.
  for (const char* id : {"b", "c"}) {
    WaitFor([&](const Event& event) {
      return event.job == id && event.type == Event::Type::kJob &&
             !event.job_info;
    });
  }
  // The live job remains, and the forgotten one does not come back.
  Restart();
  ASSERT_EQ(directory().Jobs().size(), 1u);
  EXPECT_EQ(directory().Jobs()[0]->id(), "a");
}

}  // namespace
}  // namespace graphdbg::integration
