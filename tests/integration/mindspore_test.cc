// MindSpore's jobs, by their own wire, as people see and steer them.
#include <algorithm>
#include <future>
#include <string>

#include "server/base/error.h"
#include "tests/integration/mindspore_client.h"
#include "tests/integration/server_fixture.h"

namespace graphdbg::integration {
namespace {

using debugger::EventReply;
using session::ControlVerb;
using session::JobState;
using session::PauseReason;

constexpr char kConv[] =
    "Default/network-WithLossCell/_backbone-LeNet5/conv1-Conv2d/Conv2D-op1";
constexpr char kWeight[] =
    "Default/network-WithLossCell/_backbone-LeNet5/conv1-Conv2d/conv1.weight";

class MindSporeTest : public ServerFixture {
 protected:
  absl::StatusOr<std::string> Control(session::Job& job, ControlVerb verb,
                                      std::string node = "",
                                      uint64_t steps = 1) {
    session::ControlRequest request;
    request.verb = verb;
    request.node = std::move(node);
    request.steps = steps;
    return Await(job.Control(request));
  }

  std::shared_ptr<session::Job> Find(const std::string& id) {
    auto job = directory().Find(id);
    EXPECT_NE(job, nullptr) << id;
    return job;
  }

  // Introduces the client, with LeNet as its graph.
  void Join(MindSporeClient& client) {
    EXPECT_TRUE(client.SendMetadata().version_matched());
    EXPECT_TRUE(client.SendGraph(LeNet()));
  }

  // The job as it waits before its first step; `asking` holds its question.
  std::shared_ptr<session::Job> StartMindSporeJob(
      MindSporeClient& client, std::future<EventReply>& asking,
      const std::string& id) {
    Join(client);
    asking = Ask(client);
    WaitForState(id, JobState::kPaused);
    return Find(id);
  }

  static std::future<EventReply> Ask(MindSporeClient& client) {
    return std::async(std::launch::async, [&] { return client.Ask(); });
  }
};

TEST_F(MindSporeTest, RunsFromItsFirstWordToItsLast) {
  Start();
  MindSporeClient client(port(), "1.2.0", "Ascend");
  std::future<EventReply> asking;
  auto job = StartMindSporeJob(client, asking, "mindspore-0");

  auto info = Await(job->Describe());
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->framework, "mindspore");
  EXPECT_EQ(info->framework_version, "1.2.0");
  EXPECT_EQ(info->pause_reason, PauseReason::kStart);
  EXPECT_EQ(info->ranks.at(0).device, "Ascend");
  auto graphs = Await(job->Graphs());
  ASSERT_TRUE(graphs.ok());
  EXPECT_EQ(graphs->at(0).node_count, 104u + 20u + 37u);

  ASSERT_TRUE(Control(*job, ControlVerb::kContinue).ok());
  for (int step = 1; step <= 3; ++step) {
    const EventReply reply = asking.get();
    EXPECT_EQ(reply.run_cmd().run_level(), "step");
    EXPECT_EQ(reply.run_cmd().run_steps(), 1);
    client.metadata().set_cur_step(step);
    asking = Ask(client);
  }
  asking.get();
  client.SendDone();
  const auto end = WaitForState("mindspore-0", JobState::kFinished);
  EXPECT_EQ(end.job_info->step, 3u);
  // What was seen stays to be read.
  EXPECT_TRUE(Await(job->Node(kConv)).ok());
}

}  // namespace
}  // namespace graphdbg::integration
