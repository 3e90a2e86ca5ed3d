#include "tests/integration/mindspore_fixture.h"

#include <filesystem>
#include <utility>

namespace graphdbg::integration {
namespace {

namespace fs = std::filesystem;

std::string PathOf(const std::string& job, const std::string& rest = "") {
  return "/api/v1/jobs/" + job + rest;
}

fs::path FreshDirectory() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = info->name();
  for (char& c : name) c = c == '/' ? '-' : c;
  fs::path directory = fs::path(testing::TempDir()) / name;
  fs::remove_all(directory);
  return directory;
}

}  // namespace

MindSporeFixture::MindSporeFixture(std::vector<std::string> arguments)
    : server_(std::make_unique<RealServer>(FreshDirectory(),
                                           std::move(arguments))) {}

MindSporeClient MindSporeFixture::Client(const std::string& version,
                                         const std::string& backend,
                                         const std::string& device_name) {
  return MindSporeClient(server_->debugger_port(), version, backend,
                         device_name);
}

std::future<debugger::EventReply> MindSporeFixture::Begin(
    MindSporeClient& client, const std::string& job) {
  EXPECT_TRUE(client.SendMetadata().version_matched());
  EXPECT_TRUE(client.SendGraph(LeNet()));
  auto asking = Ask(client);
  AwaitPause("start", client.metadata().cur_step(), job);
  return asking;
}

std::future<debugger::EventReply> MindSporeFixture::Ask(
    MindSporeClient& client) {
  return std::async(std::launch::async, [&client] { return client.Ask(); });
}

std::future<debugger::EventReply> MindSporeFixture::AskAt(
    MindSporeClient& client, int step, const std::string& node) {
  client.metadata().set_cur_step(step);
  client.metadata().set_cur_node(node);
  return Ask(client);
}

MindSporeFixture::Json MindSporeFixture::Job(const std::string& job) {
  return server_->Get(PathOf(job));
}

MindSporeFixture::Json MindSporeFixture::AwaitState(const std::string& state,
                                                    const std::string& job) {
  return server_->GetUntil(PathOf(job), [&](const Json& answer) {
    return answer.value("state", "") == state;
  });
}

MindSporeFixture::Json MindSporeFixture::AwaitPause(const std::string& reason,
                                                    int step,
                                                    const std::string& job) {
  return server_->GetUntil(PathOf(job), [&](const Json& answer) {
    return answer.value("state", "") == "paused" &&
           answer.at("pause_reason") == reason && answer.at("step") == step;
  });
}

void MindSporeFixture::Control(const Json& body, const std::string& job) {
  const auto reply =
      server_->Fetch("POST", PathOf(job, "/control"), body.dump());
  EXPECT_EQ(reply.status, 202) << reply.body;
}

int MindSporeFixture::Watch(const Json& body) {
  const auto reply =
      server_->Fetch("POST", PathOf(kJob, "/watchpoints"), body.dump());
  EXPECT_EQ(reply.status, 201) << reply.body;
  return Json::parse(reply.body).value("id", 0);
}

MindSporeFixture::Json MindSporeFixture::Watchpoint(int id) {
  return server_->Get(PathOf(kJob, "/watchpoints/" + std::to_string(id)));
}

MindSporeFixture::Json MindSporeFixture::Hits() {
  return server_->Get(PathOf(kJob, "/hits")).at("hits");
}

std::future<http::testing::Reply> MindSporeFixture::AskForTensor(
    const std::string& what, const std::string& query) {
  return std::async(std::launch::async, [this, what, query] {
    return server_->Fetch("GET", PathOf(kJob, "/" + what + "?" + query));
  });
}

std::string RunLevel(const debugger::EventReply& reply) {
  return reply.run_cmd().run_level();
}

}  // namespace graphdbg::integration
