// MindSpore jobs whose server is killed and restarted.
// Clients send their graph and release only once, so the server must store
// them.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/integration/mindspore_fixture.h"

namespace graphdbg::integration {
namespace {

using debugger::EventReply;
using debugger::SetCMD;

constexpr char kApi[] = "/api/v1/jobs/mindspore-0/";

class MindSporeRestartTest : public MindSporeFixture {
 protected:
  // Like Ask, but the server may be killed during the call.
  std::future<EventReply> AskThroughFailures(MindSporeClient& client) {
    return std::async(std::launch::async,
                      [&] { return client.AskThroughFailures(); });
  }
  // The client calls while the server is killed and restarted.
  std::future<EventReply> RestartUnder(MindSporeClient& client) {
    server().Kill();
    auto asking = AskThroughFailures(client);
    server().StartAgain();
    return asking;
  }
  // Returns the first answer that is not a watchpoint, and stores the last
  // watchpoint in `set`.
  static EventReply AfterWatchpoints(MindSporeClient& client,
                                     std::future<EventReply>& asking,
                                     SetCMD* set = nullptr) {
    EventReply reply = asking.get();
    while (reply.has_set_cmd()) {
      if (set != nullptr) *set = reply.set_cmd();
      reply = client.Ask();
    }
    return reply;
  }
  void End(std::future<EventReply>& asking) {
    Control({{"command", "terminate"}});
    EXPECT_TRUE(asking.get().exit());
    AwaitState("terminated");
    // No file of a client that has ended remains.
    EXPECT_TRUE(std::filesystem::is_empty(server().data_dir() / "mindspore"));
  }
  int Nodes() {
    return server()
        .Get(std::string(kApi) + "graphs")
        .at("graphs")
        .at(0)
        .at("node_count");
  }
};

debugger::WatchpointHit HitOf(const SetCMD& watchpoint) {
  debugger::WatchpointHit hit;
  hit.set_id(watchpoint.id());
  hit.mutable_tensor()->set_node_name(watchpoint.watch_nodes(0).node_name());
  hit.mutable_tensor()->set_slot("0");
  *hit.mutable_watch_condition() = watchpoint.watch_condition();
  return hit;
}

TEST_F(MindSporeRestartTest, AJobThatStandsIsThereAgain) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);
  Control({{"command", "step"}, {"steps", 2}});
  for (int step = 1; step <= 2; ++step) {
    EXPECT_EQ(RunLevel(asking.get()), "step");
    asking = step == 2 ? std::future<EventReply>() : AskAt(client, step);
  }
  client.metadata().set_cur_step(2);
  asking = AskThroughFailures(client);
  AwaitPause("step", 2);
  Watch({{"condition", {{"id", "nan"}}}, {"nodes", {kConv}}});
  const SetCMD first = asking.get().set_cmd();
  asking = AskThroughFailures(client);
  // The command was accepted, and the client waits.
  Control({{"command", "recheck"}});
  EXPECT_EQ(RunLevel(asking.get()), "recheck");
  asking = RestartUnder(client);

  AwaitPause("step", 2);
  EXPECT_EQ(server().Get("/api/v1/jobs").at("jobs").size(), 1u);
  EXPECT_EQ(Nodes(), 104 + 20 + 37);
  EXPECT_EQ(Watchpoint(1).at("condition").at("id"), "nan");
  Control({{"command", "step"}});
  SetCMD again;
  EXPECT_EQ(RunLevel(AfterWatchpoints(client, asking, &again)), "step");
  // The client's watchpoint has not changed.
  EXPECT_EQ(again.SerializeAsString(), first.SerializeAsString());
  // The client uses the same number as before.
  EXPECT_TRUE(client.SendHits({HitOf(first)}));
  asking = AskAt(client, 3);
  EXPECT_EQ(AwaitPause("watchpoint", 3).at("hit_count"), 1);
  End(asking);
}

struct Release {
  const char* version;
  const char* backend;
  // Counts a step only after stopping at its end.
  bool counts_late;
};

class MindSporeRestartInARunTest : public MindSporeRestartTest,
                                   public testing::WithParamInterface<Release> {
};

INSTANTIATE_TEST_SUITE_P(Releases, MindSporeRestartInARunTest,
                         testing::Values(Release{"", "Ascend", false},
                                         Release{"1.2.0", "GPU", false},
                                         Release{"1.3.0", "Ascend", false},
                                         Release{"2.2.0", "Ascend", true}));

TEST_P(MindSporeRestartInARunTest, ARunGoesOnToItsGoal) {
  const auto [version, backend, counts_late] = GetParam();
  const std::string last =
      std::string(backend) == "GPU" ? "Default/Depend-op61" : "";
  const auto after = [late = counts_late](int step) {
    return late ? step - 1 : step;
  };
  MindSporeClient client = Client(version, backend);
  auto asking = Begin(client);
  Control({{"command", "step"}, {"steps", 4}});
  EXPECT_EQ(RunLevel(asking.get()), "step");
  EXPECT_EQ(RunLevel(AskAt(client, after(1), last).get()), "step");
  // The client computes its second step.
  server().Kill();
  server().StartAgain();
  client.metadata().set_cur_step(after(2));
  asking = AskThroughFailures(client);
  EXPECT_EQ(RunLevel(asking.get()), "step");
  EXPECT_EQ(AwaitState("running").at("step"), 2);
  EXPECT_EQ(RunLevel(AskAt(client, after(3), last).get()), "step");
  asking = AskAt(client, after(4), last);
  AwaitPause("step", 4);
  EXPECT_EQ(server().Get("/api/v1/jobs").at("jobs").size(), 1u);
  End(asking);
}

TEST_F(MindSporeRestartTest, NoHitIsLostOrCountedTwice) {
  MindSporeClient client = Client("1.5.0", "Ascend");
  auto asking = Begin(client);
  Watch({{"condition", {{"id", "nan"}}}, {"nodes", {kConv}}});
  const SetCMD watchpoint = asking.get().set_cmd();
  asking = Ask(client);
  Control({{"command", "continue"}});
  EXPECT_EQ(RunLevel(asking.get()), "recheck");
  EXPECT_EQ(RunLevel(client.Ask()), "step");
  // The server has received the hits and does not know their step yet.
  EXPECT_TRUE(client.SendHits({HitOf(watchpoint), HitOf(watchpoint)}));
  client.metadata().set_cur_step(1);
  asking = RestartUnder(client);
  Json job = AwaitPause("watchpoint", 1);
  EXPECT_EQ(job.at("hit_count"), 2);
  EXPECT_EQ(job.at("stopped_by"), Json({1}));

  // The hits and the reason of the pause are known now.
  Control({{"command", "recheck"}});
  EXPECT_EQ(RunLevel(AfterWatchpoints(client, asking)), "recheck");
  asking = RestartUnder(client);
  job = AwaitPause("watchpoint", 1);
  EXPECT_EQ(job.at("hit_count"), 2);
  EXPECT_EQ(job.at("stopped_by"), Json({1}));
  Control({{"command", "terminate"}});
  EXPECT_TRUE(AfterWatchpoints(client, asking).exit());
}

TEST_F(MindSporeRestartTest, WatchpointsRemovedInTheMeantimeAreDeleted) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);
  Watch({{"condition", {{"id", "nan"}}}, {"nodes", {kConv}}});
  const SetCMD watchpoint = asking.get().set_cmd();
  asking = Ask(client);
  Control({{"command", "continue"}});
  EXPECT_EQ(RunLevel(asking.get()), "recheck");
  EXPECT_EQ(RunLevel(client.Ask()), "step");
  server().Kill();
  server().StartAgain();
  EXPECT_EQ(
      server().Fetch("DELETE", std::string(kApi) + "watchpoints/1").status,
      204);
  client.metadata().set_cur_step(1);
  asking = AskThroughFailures(client);
  const EventReply reply = asking.get();
  EXPECT_TRUE(reply.set_cmd().delete_());
  EXPECT_EQ(reply.set_cmd().id(), watchpoint.id());
  EXPECT_EQ(RunLevel(client.Ask()), "step");
  client.SendDone();
  EXPECT_EQ(AwaitState("finished").at("step"), 1);
}

// Stopping the server does not end its jobs, whatever stops first.
TEST_F(MindSporeRestartTest, AServerThatIsStoppedIsNoEndOfItsJobs) {
  MindSporeClient client = Client("1.3.0", "GPU");
  EXPECT_TRUE(client.SendMetadata().version_matched());
  EXPECT_TRUE(client.SendGraph(LeNet()));
  auto asking = AskThroughFailures(client);
  AwaitPause("start", 0);
  server().Stop();
  server().StartAgain();
  AwaitPause("start", 0);
  Control({{"command", "continue"}});
  EXPECT_EQ(RunLevel(asking.get()), "step");
  server().Stop();
  server().StartAgain();
  client.metadata().set_cur_step(1);
  asking = AskThroughFailures(client);
  EXPECT_EQ(RunLevel(asking.get()), "step");
  AwaitState("running");
  client.SendDone();
  EXPECT_EQ(AwaitState("finished").at("step"), 1);
  EXPECT_EQ(server().Get("/api/v1/jobs").at("jobs").size(), 1u);
}

// A client that trains endlessly and reports a hit at every fifth step.
class Trainer {
 public:
  Trainer(MindSporeClient& client, SetCMD watchpoint)
      : client_(client), watchpoint_(std::move(watchpoint)) {}

  // Runs until it is ordered to stop.
  void Run() {
    while (true) {
      const EventReply reply = client_.AskThroughFailures();
      if (reply.exit() || testing::Test::HasFailure()) return;
      if (reply.has_set_cmd()) watchpoint_ = reply.set_cmd();
      if (RunLevel(reply) != "step") continue;
      client_.ForgetFailures();
      client_.metadata().set_cur_step(++step_);
      if (step_ % 5 != 0) continue;
      tried_.insert(step_);
      if (client_.SendHits({HitOf(watchpoint_)})) taken_.insert(step_);
    }
  }

  // Steps whose hit the server confirmed, and steps of all hits.
  const std::set<int>& taken() const { return taken_; }
  const std::set<int>& tried() const { return tried_; }

 private:
  MindSporeClient& client_;
  SetCMD watchpoint_;
  int step_ = 0;
  std::set<int> taken_, tried_;
};

TEST_F(MindSporeRestartTest, KillsAtAnyMomentLoseNoHitAndNoStep) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);
  Watch(
      {{"condition", {{"id", "nan"}}}, {"nodes", {kConv}}, {"pause", "none"}});
  Trainer trainer(client, asking.get().set_cmd());
  auto training = std::async(std::launch::async, [&] { trainer.Run(); });
  Control({{"command", "continue"}});
  std::mt19937 random(20261121);
  for (int i = 0; i < 6; ++i) {
    AwaitState("running");
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 300));
    server().Kill();
    server().StartAgain();
  }
  AwaitState("running");
  Control({{"command", "terminate"}});
  training.get();
  AwaitState("terminated");

  std::set<int> recorded;
  std::string cursor;
  do {
    const Json page = server().Get(std::string(kApi) + "hits?cursor=" + cursor);
    for (const Json& hit : page.at("hits")) {
      EXPECT_TRUE(recorded.insert(hit.at("step").get<int>()).second)
          << "step " << hit.at("step");
    }
    cursor = page.at("next_cursor").is_null()
                 ? ""
                 : UrlEncoded(page.at("next_cursor"));
  } while (!cursor.empty());
  EXPECT_GT(recorded.size(), 0u);
  EXPECT_TRUE(std::includes(recorded.begin(), recorded.end(),
                            trainer.taken().begin(), trainer.taken().end()));
  EXPECT_TRUE(std::includes(trainer.tried().begin(), trainer.tried().end(),
                            recorded.begin(), recorded.end()));
  EXPECT_EQ(server().Get("/api/v1/jobs").at("jobs").size(), 1u);
}

// A client may end before its next call.
TEST_F(MindSporeRestartTest, AClientThatEndsFirstHasFinished) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);
  Control({{"command", "continue"}});
  EXPECT_EQ(RunLevel(asking.get()), "step");
  server().Kill();
  server().StartAgain();
  // The connection notices at the next call.
  while (!client.SendHeartbeat(30)) client.Connect();
  client.metadata().set_cur_step(1);
  client.SendDone();
  EXPECT_EQ(AwaitState("finished").at("step"), 1);
}

TEST_F(MindSporeRestartTest, SeveralJobsFindTheirOwnAgain) {
  MindSporeClient first = Client("1.2.0", "Ascend", "0:1");
  MindSporeClient second = Client("1.2.0", "Ascend", "0:1");
  MindSporeClient third = Client("2.2.0", "GPU", "1:1");
  auto first_asks = Begin(first);
  auto second_asks = Begin(second, "mindspore-0.2");
  auto third_asks = Begin(third, "mindspore-1");
  Control({{"command", "step"}}, "mindspore-0.2");
  EXPECT_EQ(RunLevel(second_asks.get()), "step");
  second_asks = AskAt(second, 1);
  AwaitPause("step", 1, "mindspore-0.2");
  for (auto* asking : {&first_asks, &second_asks, &third_asks}) {
    // Otherwise stopping the server would break a pending call.
    Control({{"command", "step"}}, asking == &first_asks    ? "mindspore-0"
                                   : asking == &second_asks ? "mindspore-0.2"
                                                            : "mindspore-1");
    EXPECT_EQ(RunLevel(asking->get()), "step");
  }
  server().Kill();
  server().StartAgain();
  // The two jobs on the same device are distinguished by their steps.
  second.metadata().set_cur_step(2);
  second_asks = AskThroughFailures(second);
  AwaitPause("step", 2, "mindspore-0.2");
  first.metadata().set_cur_step(1);
  first_asks = AskThroughFailures(first);
  AwaitPause("step", 1);
  third.metadata().set_cur_step(1);
  third_asks = AskThroughFailures(third);
  AwaitPause("step", 1, "mindspore-1");
  EXPECT_EQ(server().Get("/api/v1/jobs").at("jobs").size(), 3u);
  for (const char* job : {"mindspore-0", "mindspore-0.2", "mindspore-1"}) {
    Control({{"command", "terminate"}}, job);
  }
  EXPECT_TRUE(first_asks.get().exit());
  EXPECT_TRUE(second_asks.get().exit());
  EXPECT_TRUE(third_asks.get().exit());
}

}  // namespace
}  // namespace graphdbg::integration
