// MindSpore's jobs at the real server: their wire at one end, the HTTP API at
// the other.
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

  // Starts the server, on a data directory that is new, with these further
  // arguments.
  explicit MindSporeFixture(std::vector<std::string> arguments = {});

  RealServer& server() { return *server_; }

  // A client of this release; its job is mindspore-0 unless it says another
  // device.
  MindSporeClient Client(const std::string& version, const std::string& backend,
                         const std::string& device_name = "0:1");
  // Introduces the client, with LeNet as its graph, and asks for it once its
  // job stands at its start. The answer is the client's first command.
  std::future<debugger::EventReply> Begin(MindSporeClient& client,
                                          const std::string& job = kJob);
  // The client asks while the test goes on.
  static std::future<debugger::EventReply> Ask(MindSporeClient& client);
  // The client has computed until here and asks again.
  static std::future<debugger::EventReply> AskAt(MindSporeClient& client,
                                                 int step,
                                                 const std::string& node = "");

  // --- The API; of the job mindspore-0 if no other is named ------------------
  static constexpr char kJob[] = "mindspore-0";

  Json Job(const std::string& job = kJob);
  // Waits for this state.
  Json AwaitState(const std::string& state, const std::string& job = kJob);
  // Waits until it stands after this step, for this reason.
  Json AwaitPause(const std::string& reason, int step,
                  const std::string& job = kJob);
  // `body` as {"command": "step"}; has to be accepted.
  void Control(const Json& body, const std::string& job = kJob);
  // The watchpoint's id.
  int Watch(const Json& body);
  Json Watchpoint(int id);
  Json Hits();
  // Begins to ask for a tensor, as "name=…&statistics=true" below `what`, which
  // is "tensor" or "tensor/statistics".
  std::future<http::testing::Reply> AskForTensor(const std::string& what,
                                                 const std::string& query);

 private:
  std::unique_ptr<RealServer> server_;
};

// What a run command runs: "step", "node" or "recheck"; empty if it is none.
std::string RunLevel(const debugger::EventReply& reply);

}  // namespace graphdbg::integration

#endif  // TESTS_INTEGRATION_MINDSPORE_FIXTURE_H_
