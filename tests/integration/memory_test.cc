// The server's memory budget, under clients that request much and read nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/http/testing/client.h"
#include "tests/integration/real_server.h"
#include "tests/integration/scripted_agent.h"

namespace graphdbg::integration {
namespace {

using Json = RealServer::Json;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kLimit = 200 * kMiB;
constexpr int64_t kTensorMiB = 24;
constexpr char kTensor[] = "/api/v1/jobs/digits/tensor?name=forward/log:0";

std::filesystem::path NewDirectory(const std::string& name) {
  const auto path = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(path);
  return path;
}

class MemoryTest : public testing::Test {
 protected:
  MemoryTest() {
    agent_.Join(ScriptedAgent::MakeHello("digits"));
    agent_.SendGraph(SmallGraph());
    agent_.SendPaused(v1::PAUSE_REASON_START, 0);
    server_.GetUntil("/api/v1/jobs/digits", [](const Json& job) {
      return job.value("state", "") == "paused";
    });
  }

  // The agent's next message. The server cancels answers that it cannot take,
  // but this agent has sent all of them by then.
  v1::ServerMessage Receive() {
    v1::ServerMessage message = agent_.Receive();
    while (message.has_tensor_cancel()) message = agent_.Receive();
    return message;
  }

  // Answers the next request with a large tensor, or with a small one if a
  // slice is requested.
  void AnswerOne() {
    const v1::TensorRequest request = Receive().tensor_request();
    ASSERT_NE(request.request_id(), 0u);
    const int64_t pieces = request.slice_text().empty() ? kTensorMiB : 1;
    const uint64_t bytes = pieces == 1 ? 6 : kMiB;
    v1::AgentMessage message;
    v1::TensorData& tensor = *message.mutable_tensor();
    tensor.set_request_id(request.request_id());
    v1::TensorData::Header& header = *tensor.mutable_header();
    header.mutable_type()->set_dtype(v1::DTYPE_INT8);
    header.mutable_type()->add_shape(pieces * static_cast<int64_t>(bytes));
    header.add_slice_shape(pieces * static_cast<int64_t>(bytes));
    header.set_total_bytes(static_cast<uint64_t>(pieces) * bytes);
    for (int64_t i = 0; i < pieces; ++i) {
      tensor.set_data(std::string(bytes, 'x'));
      tensor.set_last(i + 1 == pieces);
      agent_.Send(message);
      tensor.clear_header();
    }
  }

  // Memory of the server that is not backed by files.
  uint64_t ResidentBytes() const {
    std::ifstream file("/proc/" + std::to_string(server_.pid()) + "/statm");
    uint64_t size = 0;
    uint64_t resident = 0;
    uint64_t shared = 0;
    file >> size >> resident >> shared;
    return (resident - shared) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  }

  // The number of responses with a status of this class, "2xx" or "5xx".
  uint64_t Responses(const std::string& status) const {
    const std::string text = server_.Fetch("GET", "/api/v1/metrics").body;
    const std::string name =
        "graphdbg_http_responses_total{status=\"" + status + "\"} ";
    const size_t at = text.find(name);
    EXPECT_NE(at, std::string::npos) << text;
    return std::stoull(text.substr(at + name.size()));
  }

  const RealServer server_{NewDirectory("memory"),
                           {"--max-memory=" + std::to_string(kLimit)}};
  ScriptedAgent agent_{server_.debugger_port()};
};

TEST_F(MemoryTest, ReadersThatDoNotReadStayWithinTheLimit) {
  std::vector<std::unique_ptr<http::testing::Client>> readers;
  for (int i = 0; i < 12; ++i) {
    auto reader = std::make_unique<http::testing::Client>(server_.http_port());
    reader->SendRaw(
        std::string("GET ") + kTensor +
        " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server_.http_port()) +
        "\r\nAccept: application/octet-stream\r\n\r\n");
    ASSERT_NO_FATAL_FAILURE(AnswerOne());
    // The response has begun.
    ASSERT_FALSE(reader->ReadsEnd());
    readers.push_back(std::move(reader));
  }
  EXPECT_GT(Responses("5xx"), 0u);
  EXPECT_LT(Responses("5xx"), 12u);
  EXPECT_LE(ResidentBytes(), kLimit + kLimit / 10);
  // The server looks at its own memory now and then. What it keeps of the
  // tensors that it could not take must not be at the expense of others.
  const Json server =
      server_.GetUntil("/api/v1/server", [this](const Json& answer) {
        const Json& used = answer.at("memory").at("used_bytes");
        return used.get<uint64_t>() + kMiB > ResidentBytes();
      });
  const Json& memory = server["memory"];
  EXPECT_EQ(memory["limit_bytes"], kLimit);
  EXPECT_GT(memory["used_bytes"], kTensorMiB * static_cast<int64_t>(kMiB));

  // Others are answered, and the job can be controlled.
  EXPECT_EQ(server_.Get("/api/v1/jobs")["jobs"].size(), 1u);
  EXPECT_EQ(server_
                .Fetch("POST", "/api/v1/jobs/digits/control",
                       R"({"command": "continue"})")
                .status,
            202);
  // The agent's next message is the command.
  EXPECT_TRUE(Receive().has_command());
  http::testing::Reply small;
  std::thread client([&] {
    small = server_.Fetch("GET", std::string(kTensor) + "&slice=%5B0%3A6%5D");
  });
  AnswerOne();
  client.join();
  EXPECT_EQ(small.status, 200) << small.body;

  // The memory that the readers held is available again when they are gone.
  readers.clear();
  server_.GetUntil("/api/v1/server", [](const Json& server) {
    return server["memory"]["used_bytes"] < kLimit / 2;
  });
}

TEST_F(MemoryTest, StoppedReadersOfEventsHurtOnlyThemselves) {
  std::vector<std::unique_ptr<http::testing::WebSocketClient>> readers;
  const http::testing::Fields origin = {
      {"Origin", "http://127.0.0.1:" + std::to_string(server_.http_port())}};
  const std::string subscription = R"({"subscribe": {"job": "digits"}})";
  for (int i = 0; i < 40; ++i) {
    readers.push_back(std::make_unique<http::testing::WebSocketClient>(
        server_.http_port(), "/api/v1/events", origin));
    readers.back()->Send(subscription);
  }
  http::testing::WebSocketClient reading(server_.http_port(), "/api/v1/events",
                                         origin);
  reading.Send(subscription);
  v1::AgentMessage message;
  message.mutable_log()->set_message(std::string(60'000, 'x'));
  for (int i = 0; i < 2'000; ++i) ASSERT_TRUE(agent_.Send(message));
  // The end reaches the reader that reads.
  ASSERT_TRUE(agent_.SendGoodbye(0, 7));
  bool finished = false;
  while (!finished) {
    const auto text = reading.Receive();
    ASSERT_TRUE(text.has_value());
    const Json event = Json::parse(*text);
    finished = event.contains("info") && event["info"].is_object() &&
               event["info"]["state"] == "finished";
  }
  EXPECT_LE(ResidentBytes(), kLimit + kLimit / 10);
  // All of them together may hold what the buffer holds, and a message each.
  const Json memory = server_.Get("/api/v1/server")["memory"];
  EXPECT_LE(memory["used_bytes"], kLimit);
  EXPECT_EQ(server_.Get("/api/v1/jobs")["jobs"].size(), 1u);
}

}  // namespace
}  // namespace graphdbg::integration
