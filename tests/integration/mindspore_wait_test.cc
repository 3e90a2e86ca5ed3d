// The wait-for-command call of MindSpore clients, and clients that disappear.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/integration/mindspore_client.h"
#include "tests/integration/server_fixture.h"

namespace graphdbg::integration {
namespace {

using debugger::EventReply;
using model::ControlVerb;
using model::JobState;
using std::chrono::milliseconds;

constexpr char kJob[] = "mindspore-0";

class MindSporeWaitTest : public ServerFixture {
 protected:
  void StartWith(mindspore::FrontendOptions options) {
    options.sweep = milliseconds(10);
    Start({}, {}, std::move(options));
  }
  static std::future<EventReply> Ask(MindSporeClient& client) {
    return std::async(std::launch::async, [&] { return client.Ask(); });
  }
  // Returns a client with LeNet as its graph that waits before its first step.
  std::future<EventReply> Begin(MindSporeClient& client) {
    EXPECT_TRUE(client.SendMetadata().version_matched());
    EXPECT_TRUE(client.SendGraph(LeNet()));
    auto asking = Ask(client);
    WaitForState(kJob, JobState::kPaused);
    return asking;
  }
  void Control(ControlVerb verb) {
    model::ControlRequest request;
    request.verb = verb;
    EXPECT_TRUE(Await(directory().Find(kJob)->Control(request)).ok());
  }
};

TEST_F(MindSporeWaitTest, ACallThatWaitsLongIsAskedAgain) {
  mindspore::FrontendOptions options;
  options.refresh = milliseconds(20);
  StartWith(std::move(options));
  MindSporeClient client(port(), "1.2.0", "Ascend");
  EXPECT_TRUE(client.SendMetadata().version_matched());
  EXPECT_TRUE(client.SendGraph(LeNet()));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.AskOnce().cmd_case(), EventReply::CMD_NOT_SET);
  }
  WaitForState(kJob, JobState::kPaused);
  // Calling again does not change the job.
  size_t pauses = 0;
  for (const model::Event& event : Events()) {
    pauses += event.job_info && event.job_info->state == JobState::kPaused;
  }
  EXPECT_EQ(pauses, 1u);
  Control(ControlVerb::kTerminate);
  EXPECT_TRUE(client.Ask().exit());
}

TEST_F(MindSporeWaitTest, AClientWhoseHeartStopsIsLostAndMayComeBack) {
  auto now = std::make_shared<std::atomic<int64_t>>(1'000'000'000);
  mindspore::FrontendOptions options;
  options.steady_nano = [now] { return now->load(); };
  StartWith(std::move(options));
  MindSporeClient client(port(), "1.3.0", "Ascend");
  // A heartbeat may be the first message.
  EXPECT_TRUE(client.SendHeartbeat(30));
  auto asking = Begin(client);
  // A client with a pending call is alive.
  *now += 1'000'000'000'000;
  Control(ControlVerb::kContinue);
  EXPECT_EQ(asking.get().run_cmd().run_level(), "step");
  EXPECT_TRUE(client.SendHeartbeat(30));
  *now += 80'000'000'000;
  EXPECT_TRUE(client.SendHeartbeat(30));
  *now += 89'000'000'000;
  const size_t from = Events().size();
  *now += 2'000'000'000;
  WaitForState(kJob, JobState::kLost, from);
  // The client was only slow, so the job still runs.
  EXPECT_TRUE(client.SendHeartbeat(30));
  WaitForState(kJob, JobState::kRunning, from);
  client.metadata().set_cur_step(1);
  asking = Ask(client);
  EXPECT_EQ(asking.get().run_cmd().run_level(), "step");
  EXPECT_EQ(directory().Jobs().size(), 1u);
  client.SendDone();
  WaitForState(kJob, JobState::kFinished);
}

TEST_F(MindSporeWaitTest, AClientThatComesThroughAnotherConnectionIsTheSame) {
  StartWith({});
  auto client = std::make_unique<MindSporeClient>(port(), "1.2.0", "Ascend");
  auto asking = Begin(*client);
  Control(ControlVerb::kContinue);
  EXPECT_EQ(asking.get().run_cmd().run_level(), "step");
  // The connection breaks while the client computes and no call is pending.
  client = std::make_unique<MindSporeClient>(port(), "1.2.0", "Ascend");
  WaitForState(kJob, JobState::kLost);
  const size_t from = Events().size();
  client->metadata().set_cur_step(1);
  asking = Ask(*client);
  EXPECT_EQ(asking.get().run_cmd().run_level(), "step");
  WaitForState(kJob, JobState::kRunning, from);
  EXPECT_EQ(directory().Jobs().size(), 1u);
  client->SendDone();
  EXPECT_EQ(WaitForState(kJob, JobState::kFinished).job_info->step, 1u);
}

TEST_F(MindSporeWaitTest, AJobThatWasForgottenMeanwhileHasItsGraphAgain) {
  const std::filesystem::path kept =
      std::filesystem::path(testing::TempDir()) / "forgotten";
  std::filesystem::remove_all(kept);
  mindspore::FrontendOptions options;
  options.state_dir = kept;
  StartWith(std::move(options));
  auto client = std::make_unique<MindSporeClient>(port(), "1.2.0", "Ascend");
  auto asking = Begin(*client);
  model::WatchpointSpec spec;
  spec.condition.id = "nan";
  ASSERT_TRUE(Await(directory().Find(kJob)->AddWatchpoint(spec)).ok());
  const int number = asking.get().set_cmd().id();
  asking = Ask(*client);
  Control(ControlVerb::kContinue);
  EXPECT_EQ(asking.get().run_cmd().run_level(), "recheck");
  EXPECT_EQ(client->Ask().run_cmd().run_level(), "step");
  client = std::make_unique<MindSporeClient>(port(), "1.2.0", "Ascend");
  WaitForState(kJob, JobState::kLost);
  ASSERT_TRUE(Await(directory().Forget(kJob)).ok());

  const size_t from = Events().size();
  client->metadata().set_cur_step(1);
  asking = Ask(*client);
  // The client's watchpoints that no longer exist are deleted.
  const EventReply reply = asking.get();
  EXPECT_TRUE(reply.set_cmd().delete_());
  EXPECT_EQ(reply.set_cmd().id(), number);
  EXPECT_EQ(client->Ask().run_cmd().run_level(), "step");
  WaitForState(kJob, JobState::kRunning, from);
  const auto graphs = Await(directory().Find(kJob)->Graphs());
  ASSERT_TRUE(graphs.ok());
  EXPECT_EQ(graphs->at(0).node_count, 104u + 20u + 37u);
  client->SendDone();
  WaitForState(kJob, JobState::kFinished, from);
}

TEST_F(MindSporeWaitTest, LostClientsAreNotAwaitedForever) {
  const std::filesystem::path kept =
      std::filesystem::path(testing::TempDir()) / "waited_for";
  std::filesystem::remove_all(kept);
  auto now = std::make_shared<std::atomic<int64_t>>(1'000'000'000);
  mindspore::FrontendOptions options;
  options.state_dir = kept;
  options.now_unix_nano = [now] { return now->load(); };
  StartWith(std::move(options));
  {
    MindSporeClient client(port(), "1.2.0", "Ascend");
    EXPECT_TRUE(client.SendMetadata().version_matched());
    EXPECT_TRUE(client.SendGraph(LeNet()));
  }
  WaitForState(kJob, JobState::kLost);
  EXPECT_FALSE(std::filesystem::is_empty(kept));
  // A day and an hour later.
  *now += int64_t{25} * 3'600 * 1'000'000'000;
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!std::filesystem::is_empty(kept)) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    std::this_thread::sleep_for(milliseconds(5));
  }
}

TEST_F(MindSporeWaitTest, AClientThatIsGoneIsLost) {
  StartWith({});
  {
    MindSporeClient client(port(), "1.2.0", "Ascend");
    EXPECT_TRUE(client.SendMetadata().version_matched());
    EXPECT_TRUE(client.SendGraph(LeNet()));
  }
  WaitForState(kJob, JobState::kLost);
}

}  // namespace
}  // namespace graphdbg::integration
