// Single nodes of MindSpore jobs, which only GPUs can step over.
#include <string>

#include "tests/integration/mindspore_fixture.h"

namespace graphdbg::integration {
namespace {

using debugger::EventReply;

constexpr char kLast[] = "Default/Depend-op61";

class MindSporeNodeTest : public MindSporeFixture {
 protected:
  void End(std::future<EventReply>& asking) {
    Control({{"command", "terminate"}});
    EXPECT_TRUE(asking.get().exit());
  }
};

TEST_F(MindSporeNodeTest, NextNodeRunsOneKernel) {
  MindSporeClient client = Client("1.2.0", "GPU");
  auto asking = Begin(client);
  for (const char* node : {kConv, kRelu}) {
    Control({{"command", "next_node"}});
    const EventReply reply = asking.get();
    EXPECT_EQ(RunLevel(reply), "node");
    EXPECT_TRUE(reply.run_cmd().has_node_name());
    EXPECT_EQ(reply.run_cmd().node_name(), "");
    asking = AskAt(client, 1, node);
    server().GetUntil("/api/v1/jobs/mindspore-0", [&](const Json& job) {
      return job.at("state") == "paused" && job.at("node") == node;
    });
  }
  EXPECT_EQ(Job().at("pause_reason"), "node");
  // The step that contains the current node counts.
  Control({{"command", "step"}});
  EXPECT_EQ(RunLevel(asking.get()), "step");
  asking = AskAt(client, 1, kLast);
  EXPECT_EQ(AwaitPause("step", 1).at("node"), "");
  Control({{"command", "step"}});
  EXPECT_EQ(RunLevel(asking.get()), "step");
  asking = AskAt(client, 2, kLast);
  AwaitPause("step", 2);
  End(asking);
}

TEST_F(MindSporeNodeTest, RunsToANodeByItsName) {
  MindSporeClient client = Client("2.2.0", "GPU");
  auto asking = Begin(client);
  Control({{"command", "continue_to"}, {"node", kRelu}});
  EventReply reply = asking.get();
  EXPECT_EQ(RunLevel(reply), "node");
  EXPECT_EQ(reply.run_cmd().node_name(), kRelu);
  asking = AskAt(client, 1, kRelu);
  EXPECT_EQ(AwaitPause("node", 1).at("node"), kRelu);

  // A node that selects an output is reached at the producer of the output.
  Control({{"command", "continue_to"},
           {"node", "Default/optimizer-Momentum/tuple_getitem-op250"}});
  reply = asking.get();
  EXPECT_EQ(reply.run_cmd().node_name(),
            "Default/optimizer-Momentum/ApplyMomentum-op22");
  asking = AskAt(client, 1, reply.run_cmd().node_name());
  server().GetUntil("/api/v1/jobs/mindspore-0", [&](const Json& job) {
    return job.at("state") == "paused" &&
           job.at("node") == reply.run_cmd().node_name();
  });
  End(asking);
}

TEST_F(MindSporeNodeTest, AHitStopsWithinTheStep) {
  MindSporeClient client = Client("1.3.0", "GPU");
  auto asking = Begin(client);
  Watch({{"condition", {{"id", "nan"}}}, {"nodes", {kConv}}});
  const debugger::SetCMD watchpoint = asking.get().set_cmd();
  asking = Ask(client);
  Control({{"command", "continue"}});
  EXPECT_EQ(RunLevel(asking.get()), "recheck");
  EXPECT_EQ(RunLevel(client.Ask()), "step");
  debugger::WatchpointHit hit;
  hit.set_id(watchpoint.id());
  hit.mutable_tensor()->set_node_name(kConv);
  hit.mutable_tensor()->set_slot("0");
  *hit.mutable_watch_condition() = watchpoint.watch_condition();
  EXPECT_TRUE(client.SendHits({hit}));
  asking = AskAt(client, 1, kConv);
  const Json job = AwaitPause("watchpoint", 1);
  EXPECT_EQ(job.at("node"), kConv);
  EXPECT_EQ(job.at("hit_count"), 1);

  Control({{"command", "step"}});
  EXPECT_EQ(RunLevel(asking.get()), "step");
  asking = AskAt(client, 1, kLast);
  EXPECT_EQ(AwaitPause("step", 1).at("node"), "");
  End(asking);
}

// The page disables the commands accordingly; other clients get an error.
TEST_F(MindSporeNodeTest, UnsupportedCommandsAreReportedAndRefused) {
  const std::string path = "/api/v1/jobs/mindspore-0/control";
  MindSporeClient client = Client("", "Ascend");
  auto asking = Begin(client);
  const Json unsupported = Job().at("unsupported_commands");
  EXPECT_EQ(unsupported.size(), 3u);
  const Json commands[] = {{{"command", "next_node"}},
                           {{"command", "continue_to"}, {"node", kConv}},
                           {{"command", "recheck"}}};
  for (const Json& command : commands) {
    const auto reply = server().Fetch("POST", path, command.dump());
    EXPECT_GE(reply.status, 400);
    const Json problem = Json::parse(reply.body);
    EXPECT_EQ(problem.at("code"), "unsupported_command");
    EXPECT_EQ(problem.at("detail"),
              unsupported.at(command.at("command").get<std::string>()));
  }
  AwaitPause("start", 0);
  MindSporeClient gpu = Client("1.1.0", "GPU", "1:1");
  auto gpu_asks = Begin(gpu, "mindspore-1");
  EXPECT_TRUE(Job("mindspore-1").at("unsupported_commands").empty());
  // Its protocol knows only the next node.
  const Json over = {{"command", "next_node"}, {"other_line", true}};
  const auto refused =
      server().Fetch("POST", "/api/v1/jobs/mindspore-1/control", over.dump());
  EXPECT_EQ(refused.status, 501);
  EXPECT_EQ(Json::parse(refused.body).at("code"), "unsupported_command");
  Control({{"command", "terminate"}}, "mindspore-1");
  EXPECT_TRUE(gpu_asks.get().exit());
  End(asking);
}

// A watchpoint can pause the job at the end of the step.
TEST_F(MindSporeNodeTest, AHitMayWaitForTheEndOfTheStep) {
  MindSporeClient client = Client("1.3.0", "GPU");
  auto asking = Begin(client);
  Watch(
      {{"condition", {{"id", "nan"}}}, {"nodes", {kConv}}, {"pause", "step"}});
  const debugger::SetCMD watchpoint = asking.get().set_cmd();
  asking = Ask(client);
  Control({{"command", "continue"}});
  EXPECT_EQ(RunLevel(asking.get()), "recheck");
  EXPECT_EQ(RunLevel(client.Ask()), "step");
  debugger::WatchpointHit hit;
  hit.set_id(watchpoint.id());
  hit.mutable_tensor()->set_node_name(kConv);
  hit.mutable_tensor()->set_slot("0");
  EXPECT_TRUE(client.SendHits({hit}));
  asking = AskAt(client, 1, kConv);
  EXPECT_EQ(RunLevel(asking.get()), "step");
  asking = AskAt(client, 1, kLast);
  const Json job = AwaitPause("watchpoint", 1);
  EXPECT_EQ(job.at("node"), "");
  EXPECT_EQ(job.at("stopped_by"), Json({1}));
  End(asking);
}

}  // namespace
}  // namespace graphdbg::integration
