// MindSpore jobs with a real server: the tests use MindSpore's protocol on one
// side and the HTTP API on the other.
#ifndef TESTS_INTEGRATION_MINDSPORE_FIXTURE_H_
#define TESTS_INTEGRATION_MINDSPORE_FIXTURE_H_

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/mindspore_client.h"
#include "tests/integration/real_server.h"

namespace graphdbg::integration {

// Nodes of LeNet.
inline constexpr char kConv[] =
    "Default/network-WithLossCell/_backbone-LeNet5/conv1-Conv2d/Conv2D-op1";
inline constexpr char kRelu[] =
    "Default/network-WithLossCell/_backbone-LeNet5/relu-ReLU/ReLU-op12";
inline constexpr char kReluScope[] =
    "Default/network-WithLossCell/_backbone-LeNet5/relu-ReLU";
inline constexpr char kWeight[] =
    "Default/network-WithLossCell/_backbone-LeNet5/conv1-Conv2d/conv1.weight";

class MindSporeFixture : public testing::Test {
 protected:
  using Json = RealServer::Json;

  // Starts the server with a new data directory and these further arguments.
  explicit MindSporeFixture(std::vector<std::string> arguments = {});

  RealServer& server() { return *server_; }

  // A client of this release. Its job is mindspore-0 unless it has another
  // device.
  MindSporeClient Client(const std::string& version, const std::string& backend,
                         const std::string& device_name = "0:1");
  // Connects the client with LeNet as its graph, and waits until its job is
  // paused at the start. Returns the client's first command.
  std::future<debugger::EventReply> Begin(MindSporeClient& client,
                                          const std::string& job = kJob);
  // Waits for a command in the background.
  static std::future<debugger::EventReply> Ask(MindSporeClient& client);
  // The client has computed up to this step and node, and waits for a command.
  static std::future<debugger::EventReply> AskAt(MindSporeClient& client,
                                                 int step,
                                                 const std::string& node = "");

  // --- HTTP API; the default job is mindspore-0
  // -------------------------------
  static constexpr char kJob[] = "mindspore-0";

  Json Job(const std::string& job = kJob);
  // Waits for this state.
  Json AwaitState(const std::string& state, const std::string& job = kJob);
  // Waits until the job is paused after this step for this reason.
  Json AwaitPause(const std::string& reason, int step,
                  const std::string& job = kJob);
  // Sends a command such as {"command": "step"}, which must be accepted.
  void Control(const Json& body, const std::string& job = kJob);
  // Adds a watchpoint and returns its id.
  int Watch(const Json& body);
  Json Watchpoint(int id);
  Json Hits();
  // Requests a tensor in the background. `what` is "tensor" or
  // "tensor/statistics", and `query` is such as "name=…&statistics=true".
  std::future<http::testing::Reply> AskForTensor(const std::string& what,
                                                 const std::string& query);

 private:
  std::unique_ptr<RealServer> server_;
};

// The level of a run command: "step", "node" or "recheck"; empty for other
// commands.
std::string RunLevel(const debugger::EventReply& reply);

}  // namespace graphdbg::integration

#endif  // TESTS_INTEGRATION_MINDSPORE_FIXTURE_H_
