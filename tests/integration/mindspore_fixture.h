// MindSpore jobs and the real server, with MindSpore's protocol on one side and
// the HTTP API on the other.
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

  // Starts the server on a new data directory, with these additional
  // arguments.
  explicit MindSporeFixture(std::vector<std::string> arguments = {});

  RealServer& server() { return *server_; }

  // A client of this release. Its job is mindspore-0 unless it reports another
  // device.
  MindSporeClient Client(const std::string& version, const std::string& backend,
                         const std::string& device_name = "0:1");
  // Connects the client, with LeNet as its graph, and makes its call when the
  // job is paused at its start. The answer is the client's first command.
  std::future<debugger::EventReply> Begin(MindSporeClient& client,
                                          const std::string& job = kJob);
  // Makes the client's call in the background.
  static std::future<debugger::EventReply> Ask(MindSporeClient& client);
  // The client has computed up to here and calls again.
  static std::future<debugger::EventReply> AskAt(MindSporeClient& client,
                                                 int step,
                                                 const std::string& node = "");

  // --- The API, for the job mindspore-0 unless another is named --------------
  static constexpr char kJob[] = "mindspore-0";

  Json Job(const std::string& job = kJob);
  // Waits for this state.
  Json AwaitState(const std::string& state, const std::string& job = kJob);
  // Waits until the job is paused after this step, for this reason.
  Json AwaitPause(const std::string& reason, int step,
                  const std::string& job = kJob);
  // Sends a command such as {"command": "step"}, which must be accepted.
  void Control(const Json& body, const std::string& job = kJob);
  // Sets a watchpoint and returns its id.
  int Watch(const Json& body);
  Json Watchpoint(int id);
  Json Hits();
  // Starts a request for a tensor with a query such as
  // "name=…&statistics=true"; `what` is "tensor" or "tensor/statistics".
  std::future<http::testing::Reply> AskForTensor(const std::string& what,
                                                 const std::string& query);

 private:
  std::unique_ptr<RealServer> server_;
};

// The level of a run command: "step", "node" or "recheck". Empty for others.
std::string RunLevel(const debugger::EventReply& reply);

}  // namespace graphdbg::integration

#endif  // TESTS_INTEGRATION_MINDSPORE_FIXTURE_H_
