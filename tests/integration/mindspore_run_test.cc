// The life of a MindSpore job for each release: identity, steps, end.
#include <chrono>
#include <string>
#include <vector>

#include "tests/integration/mindspore_fixture.h"

namespace graphdbg::integration {
namespace {

using debugger::EventReply;

struct Release {
  const char* name;
  // The version in the metadata.
  const char* version;
  const char* backend;
  // Counts a step only after stopping at its end.
  bool counts_late = false;
};

const Release kReleases[] = {
    {"v10Ascend", "", "Ascend"},
    {"v10Gpu", "", "GPU"},
    {"v11Ascend", "1.1.0", "Ascend"},
    {"v12Gpu", "1.2.0", "GPU"},
    {"v13Ascend", "1.3.0", "Ascend"},
    {"v15Gpu", "1.5.2", "GPU"},
    {"v18Ascend", "1.8.1", "Ascend", true},
    {"v22Ascend", "2.2.0", "Ascend", true},
    {"v23Gpu", "2.3.0rc1", "GPU"},
};

class MindSporeRunTest : public MindSporeFixture,
                         public testing::WithParamInterface<Release> {
 protected:
  MindSporeClient Client() {
    return MindSporeFixture::Client(GetParam().version, GetParam().backend);
  }
  // The client has run this step, from 1, and makes the wait-for-command call.
  std::future<EventReply> AskAfter(MindSporeClient& client, int step) {
    const bool gpu = std::string(GetParam().backend) == "GPU";
    return AskAt(client, GetParam().counts_late ? step - 1 : step,
                 gpu ? "Default/Depend-op61" : "");
  }
  static bool IsHeld(std::future<EventReply>& asking) {
    return asking.wait_for(std::chrono::seconds(0)) ==
           std::future_status::timeout;
  }
};

INSTANTIATE_TEST_SUITE_P(Releases, MindSporeRunTest,
                         testing::ValuesIn(kReleases),
                         [](const auto& info) { return info.param.name; });

TEST_P(MindSporeRunTest, RunsFromMetadataToDone) {
  MindSporeClient client = Client();
  auto asking = Begin(client);
  const Json job = Job();
  const std::string version = GetParam().version;
  EXPECT_EQ(job.at("framework"), "mindspore");
  EXPECT_EQ(job.at("framework_version"), version.empty() ? "1.0" : version);
  EXPECT_EQ(job.at("ranks").at(0).at("device"), GetParam().backend);

  Control({{"command", "continue"}});
  for (int step = 1; step <= 3; ++step) {
    const EventReply reply = asking.get();
    EXPECT_EQ(RunLevel(reply), "step");
    EXPECT_EQ(reply.run_cmd().run_steps(), 1);
    asking = AskAfter(client, step);
  }
  EXPECT_EQ(RunLevel(asking.get()), "step");
  client.SendDone();
  EXPECT_EQ(AwaitState("finished").at("step"), 3);
  // The job's data remains available.
  EXPECT_EQ(server()
                .Get("/api/v1/jobs/mindspore-0/graphs")
                .at("graphs")
                .at(0)
                .at("node_count"),
            104 + 20 + 37);
}

TEST_P(MindSporeRunTest, RunsSeveralStepsAsOneAnswerEach) {
  MindSporeClient client = Client();
  auto asking = Begin(client);
  Control({{"command", "step"}, {"steps", 3}});
  for (int step = 1; step <= 3; ++step) {
    EXPECT_EQ(RunLevel(asking.get()), "step");
    asking = AskAfter(client, step);
  }
  AwaitPause("step", 3);
  EXPECT_TRUE(IsHeld(asking));

  // A pause ends an endless run after the current step.
  Control({{"command", "continue"}});
  EXPECT_EQ(RunLevel(asking.get()), "step");
  AwaitState("running");
  Control({{"command", "pause"}});
  AwaitState("pausing");
  asking = AskAfter(client, 4);
  AwaitPause("user", 4);
  EXPECT_TRUE(IsHeld(asking));

  Control({{"command", "terminate"}});
  EXPECT_TRUE(asking.get().exit());
  AwaitState("terminated");
}

class MindSporeJobsTest : public MindSporeFixture {};

TEST_F(MindSporeJobsTest, SeveralAtOnceDoNotDisturbEachOther) {
  MindSporeClient first = Client("1.2.0", "Ascend", "0:1");
  MindSporeClient second = Client("2.2.0", "GPU", "1:1");
  MindSporeClient namesake = Client("1.1.0", "Ascend", "0:1");
  auto first_asks = Begin(first);
  auto second_asks = Begin(second, "mindspore-1");
  auto namesake_asks = Begin(namesake, "mindspore-0.2");

  Control({{"command", "step"}}, "mindspore-0.2");
  EXPECT_EQ(RunLevel(namesake_asks.get()), "step");
  namesake_asks = AskAt(namesake, 1);
  AwaitPause("step", 1, "mindspore-0.2");
  AwaitPause("start", 0);
  AwaitPause("start", 0, "mindspore-1");

  Control({{"command", "terminate"}}, "mindspore-1");
  EXPECT_TRUE(second_asks.get().exit());
  AwaitState("terminated", "mindspore-1");
  Control({{"command", "terminate"}});
  EXPECT_TRUE(first_asks.get().exit());
  AwaitState("terminated");
  AwaitPause("step", 1, "mindspore-0.2");
  Control({{"command", "terminate"}}, "mindspore-0.2");
  EXPECT_TRUE(namesake_asks.get().exit());
}

// MindSpore 1.2 opens a session for each graph that it compiles. A new session
// has no watchpoints and counts its steps from the start.
TEST_F(MindSporeJobsTest, ASessionWithinTheProcessBeginsAnew) {
  MindSporeClient client = Client("1.2.0", "GPU");
  auto asking = Begin(client);
  Watch({{"condition", {{"id", "nan"}}}, {"nodes", {kConv}}});
  Control({{"command", "step"}, {"steps", 2}});
  EXPECT_EQ(asking.get().set_cmd().watch_nodes(0).node_name(), kConv);
  asking = AskAt(client, 0);
  // A new watchpoint is checked on the initial values.
  EXPECT_EQ(RunLevel(asking.get()), "recheck");
  asking = AskAt(client, 0);
  EXPECT_EQ(RunLevel(asking.get()), "step");
  asking = AskAt(client, 1, "Default/Depend-op61");
  EXPECT_EQ(RunLevel(asking.get()), "step");
  asking = AskAt(client, 2, "Default/Depend-op61");
  AwaitPause("step", 2);
  Control({{"command", "continue"}});
  EXPECT_EQ(RunLevel(asking.get()), "step");

  client.metadata().set_cur_step(0);
  client.metadata().set_cur_node("");
  EXPECT_TRUE(client.SendMetadata().version_matched());
  EXPECT_TRUE(client.SendGraph(LeNet()));
  asking = Ask(client);
  const EventReply again = asking.get();
  EXPECT_EQ(again.set_cmd().watch_nodes(0).node_name(), kConv);
  EXPECT_GT(again.set_cmd().id(), 1);
  asking = AskAt(client, 0);
  // The session is paused at its start, and the job's step count continues.
  AwaitPause("start", 2);
  Control({{"command", "step"}});
  EXPECT_EQ(RunLevel(asking.get()), "recheck");
  asking = AskAt(client, 0);
  EXPECT_EQ(RunLevel(asking.get()), "step");
  asking = AskAt(client, 1, "Default/Depend-op61");
  AwaitPause("step", 3);
  Control({{"command", "terminate"}});
  EXPECT_TRUE(asking.get().exit());
}

// MindSpore 2 sends the graph of another network without notice.
TEST_F(MindSporeJobsTest, AnotherGraphInMidSessionEndsTheRun) {
  MindSporeClient client = Client("2.2.0", "GPU");
  auto asking = Begin(client);
  Control({{"command", "continue"}});
  EXPECT_EQ(RunLevel(asking.get()), "step");
  asking = AskAt(client, 1, "Default/Depend-op61");
  EXPECT_EQ(RunLevel(asking.get()), "step");

  debugger::GraphProto evaluation;
  evaluation.ParseFromString(LeNet());
  evaluation.set_name("kernel_graph_1");
  EXPECT_TRUE(client.SendGraph(evaluation.SerializeAsString()));
  asking = AskAt(client, 1);
  AwaitPause("start", 1);
  const Json graphs = server().Get("/api/v1/jobs/mindspore-0/graphs");
  ASSERT_EQ(graphs.at("graphs").size(), 2u);
  EXPECT_EQ(graphs.at("graphs").at(1).at("node_count"), 104 + 20 + 37);
  Control({{"command", "terminate"}});
  EXPECT_TRUE(asking.get().exit());
}

// MindInsight's mock client differs from real clients: it counts from 1, sums
// up run_steps, marks the last chunk of its graph, and sends each tensor in a
// separate call.
TEST_F(MindSporeJobsTest, AMockClientIsServedTheSame) {
  MindSporeClient client = Client("1.3.0", "Ascend");
  client.metadata().set_cur_step(1);
  EXPECT_TRUE(client.SendMetadata().version_matched());
  debugger::Chunk chunk;
  chunk.set_buffer(LeNet());
  chunk.set_finished(true);
  EXPECT_TRUE(client.SendChunks({chunk}, false));
  auto asking = Ask(client);
  AwaitPause("start", 1);
  Control({{"command", "step"}, {"steps", 2}});
  int step = 1;
  for (int i = 0; i < 2; ++i) {
    step += asking.get().run_cmd().run_steps();
    asking = AskAt(client, step);
  }
  AwaitPause("step", 3);

  auto statistics = AskForTensor(
      "tensor/statistics", "name=" + UrlEncoded(std::string(kWeight) + ":0"));
  const EventReply view = asking.get();
  for (const auto& asked : view.view_cmd().tensors()) {
    auto whole = FloatTensor(asked, {2, 3}, {1, 2, 3, 4, 5, 6});
    std::vector<debugger::TensorProto> pieces(2, whole);
    pieces[0].set_tensor_content(whole.tensor_content().substr(0, 12));
    pieces[0].set_finished(false);
    pieces[1].set_tensor_content(whole.tensor_content().substr(12));
    EXPECT_TRUE(client.SendTensors(pieces));
  }
  asking = Ask(client);
  const auto answer = statistics.get();
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(Json::parse(answer.body).at("statistics").at("mean"), 3.5);
  Control({{"command", "terminate"}});
  EXPECT_TRUE(asking.get().exit());
}

TEST_F(MindSporeJobsTest, AfterItsEndAConnectionMayBeginAnotherJob) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);
  Control({{"command", "step"}});
  EXPECT_EQ(RunLevel(asking.get()), "step");
  client.SendDone();
  AwaitState("finished");

  client.metadata().set_training_done(false);
  asking = Begin(client, "mindspore-0-2");
  AwaitState("finished");
  Control({{"command", "terminate"}}, "mindspore-0-2");
  EXPECT_TRUE(asking.get().exit());
}

}  // namespace
}  // namespace graphdbg::integration
