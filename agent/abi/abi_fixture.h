// Loads libgraphdbg.so, which contains its own protobuf and gRPC, into a
// process that uses the system's, and connects it to a scripted server in this
// process.
#ifndef AGENT_ABI_ABI_FIXTURE_H_
#define AGENT_ABI_ABI_FIXTURE_H_

#include <dlfcn.h>
#include <stdlib.h>

#include <cmath>
#include <future>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "agent/include/graphdbg/agent.h"
#include "agent/testing/scripted_server.h"
#include "agent/testing/toy_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {

inline AgentFunctions LoadAgent() {
  static void* library = dlopen("agent/abi/libgraphdbg.so", RTLD_NOW);
  if (library == nullptr) {
    ADD_FAILURE() << dlerror();
    abort();
  }
  AgentFunctions functions;
  const auto load = [&](auto* function, const char* name) {
    *reinterpret_cast<void**>(function) = dlsym(library, name);
    EXPECT_NE(*function, nullptr) << name;
  };
  load(&functions.open, "graphdbg_open");
  load(&functions.close, "graphdbg_close");
  load(&functions.declare_node, "graphdbg_declare_node");
  load(&functions.declare_scope, "graphdbg_declare_scope");
  load(&functions.bind_tensor, "graphdbg_bind_tensor");
  load(&functions.interest, "graphdbg_interest");
  load(&functions.interests, "graphdbg_interests");
  load(&functions.start, "graphdbg_start");
  load(&functions.executed, "graphdbg_executed");
  load(&functions.step_end, "graphdbg_step_end");
  load(&functions.last_error, "graphdbg_last_error");
  return functions;
}

// Captures stderr while it exists.
class CapturedStderr {
 public:
  CapturedStderr() { testing::internal::CaptureStderr(); }
  std::string Get() { return testing::internal::GetCapturedStderr(); }
};

class AbiFixture : public testing::Test {
 protected:
  AbiFixture() {
    for (const char* name :
         {"GRAPHDBG_TOKEN", "GRAPHDBG_WAIT", "GRAPHDBG_CONNECT_TIMEOUT",
          "GRAPHDBG_ON_DISCONNECT", "GRAPHDBG_GRACE", "RANK", "WORLD_SIZE"}) {
      unsetenv(name);
    }
    setenv("GRAPHDBG_ENABLE", "1", 1);
    // It is interested in ops that tests expect to be left alone.
    setenv("GRAPHDBG_OVERVIEW", "0", 1);
    setenv("GRAPHDBG_JOB", "toy-job", 1);
  }

  // Starts a server that the program connects to.
  void Serve(const std::string& token = "", int port = 0) {
    server_ = std::make_unique<ScriptedServer>(token, port);
    setenv("GRAPHDBG_PORT", std::to_string(server_->port()).c_str(), 1);
  }

  // Runs `body` as the program's training thread.
  template <class Body>
  void Train(Body body) {
    training_ = std::async(std::launch::async, std::move(body));
  }

  // Opens the program's agent, runs `body`, and waits for the agent to connect.
  template <class Body>
  std::shared_ptr<ScriptedSession> Attach(Body body) {
    if (server_ == nullptr) Serve();
    EXPECT_EQ(program_.Open(), GRAPHDBG_OK);
    Train(std::move(body));
    return server_->Accept();
  }

  static constexpr float kInf = std::numeric_limits<float>::infinity();
  const float kNan = std::nanf("");

  ToyProgram program_{LoadAgent()};
  std::unique_ptr<ScriptedServer> server_;
  std::future<graphdbg_status> training_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_ABI_ABI_FIXTURE_H_
