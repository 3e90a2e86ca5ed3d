// libgraphdbg.so, with its own protobuf and gRPC inside, in a process that has
// the system's: it talks to a scripted server in this very process.
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include "agent/include/graphdbg/agent.h"
#include "agent/testing/scripted_server.h"
#include "agent/testing/toy_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

AgentFunctions Load() {
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
  load(&functions.start, "graphdbg_start");
  load(&functions.executed, "graphdbg_executed");
  load(&functions.step_end, "graphdbg_step_end");
  load(&functions.last_error, "graphdbg_last_error");
  return functions;
}

// What stderr gets while this lives.
class CapturedStderr {
 public:
  CapturedStderr() { testing::internal::CaptureStderr(); }
  std::string Get() { return testing::internal::GetCapturedStderr(); }
};

class AbiTest : public testing::Test {
 protected:
  AbiTest() {
    for (const char* name :
         {"GRAPHDBG_TOKEN", "GRAPHDBG_WAIT", "GRAPHDBG_CONNECT_TIMEOUT",
          "GRAPHDBG_ON_DISCONNECT", "GRAPHDBG_GRACE", "RANK", "WORLD_SIZE"}) {
      unsetenv(name);
    }
    setenv("GRAPHDBG_ENABLE", "1", 1);
    setenv("GRAPHDBG_JOB", "toy-job", 1);
  }

  void UseServer(const ScriptedServer& server) {
    setenv("GRAPHDBG_PORT", std::to_string(server.port()).c_str(), 1);
  }

  // Runs `body` as the program's training thread.
  template <class Body>
  std::future<graphdbg_status> Train(Body body) {
    return std::async(std::launch::async, std::move(body));
  }

  v1::SetWatchpoint WatchAll(const std::string& condition,
                             v1::PauseMode pause = v1::PAUSE_MODE_NODE) {
    v1::SetWatchpoint watchpoint;
    watchpoint.set_id(1);
    watchpoint.set_revision(1);
    watchpoint.mutable_condition()->set_id(condition);
    watchpoint.set_pause(pause);
    watchpoint.set_enabled(true);
    return watchpoint;
  }

  ToyProgram program_{Load()};
};

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

TEST_F(AbiTest, IsDetachedUnlessEnabled) {
  setenv("GRAPHDBG_ENABLE", "0", 1);
  EXPECT_EQ(program_.Open(), GRAPHDBG_DETACHED);
  EXPECT_EQ(program_.agent(), nullptr);
  EXPECT_EQ(program_.Start(), GRAPHDBG_DETACHED);
  EXPECT_EQ(program_.Step(), GRAPHDBG_DETACHED);
  EXPECT_EQ(program_.executed(), 0);
  EXPECT_EQ(program_.Close(), GRAPHDBG_DETACHED);
}

TEST_F(AbiTest, SaysWhoItIsAndWaitsAtTheStart) {
  ScriptedServer server;
  UseServer(server);
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  auto training = Train([&] { return program_.Start(); });
  auto session = server.Accept();
  EXPECT_EQ(session->hello().job(), "toy-job");
  EXPECT_EQ(session->hello().job_name(), "agent_abi_test");
  EXPECT_EQ(session->hello().framework(), "toy");
  EXPECT_EQ(session->hello().pid(), static_cast<uint64_t>(getpid()));
  EXPECT_EQ(session->hello().world_size(), 1u);
  EXPECT_TRUE(session->hello().waits_at_start());
  EXPECT_THAT(session->hello().capabilities(),
              testing::IsSupersetOf({"wire/1", "condition/nan"}));
  session->Welcome();
  const v1::StateUpdate pause = session->WaitForPause();
  EXPECT_EQ(pause.reason(), v1::PAUSE_REASON_START);
  EXPECT_EQ(pause.step(), 0u);
  EXPECT_TRUE(pause.step_ended());
  const uint64_t command = session->Continue();
  EXPECT_FALSE(session->WaitForResult(command).has_error());
  EXPECT_EQ(training.get(), GRAPHDBG_OK);
  EXPECT_GT(program_.host().waits(), 0);
  EXPECT_EQ(program_.Close(3), GRAPHDBG_OK);
  const v1::Goodbye goodbye = session->WaitForGoodbye();
  EXPECT_EQ(goodbye.exit_code(), 3);
  EXPECT_FALSE(goodbye.terminated());
  EXPECT_EQ(program_.host().level(), GRAPHDBG_LEVEL_OFF);
}

TEST_F(AbiTest, StopsAtTheNodeThatHitsAndShowsItsValues) {
  ScriptedServer server;
  UseServer(server);
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  auto training = Train([&] {
    graphdbg_status status = program_.Start();
    if (status == GRAPHDBG_OK) status = program_.Step();
    program_.y() = {0, kNan, -kInf, 3};
    if (status == GRAPHDBG_OK) status = program_.Step();
    return status;
  });
  auto session = server.Accept();
  session->Welcome();
  session->WaitForPause();
  const v1::WatchpointStatus status = session->Watch(WatchAll("nan"));
  EXPECT_FALSE(status.has_error());
  EXPECT_EQ(status.node_count(), 3u);
  session->Continue();

  const v1::Hit hit = session->WaitForHit();
  EXPECT_EQ(hit.watchpoint(), 1u);
  EXPECT_EQ(hit.step(), 2u);
  EXPECT_EQ(hit.order(), 1u);
  EXPECT_EQ(session->NameOf(hit.node_id()), "forward/log");
  EXPECT_EQ(hit.actual().at("nan_count"), 1);
  EXPECT_EQ(hit.statistics().neg_inf_count(), 1u);
  EXPECT_EQ(hit.statistics().max(), 3);
  EXPECT_EQ(hit.origin(), v1::HIT_ORIGIN_ORIGIN);
  EXPECT_EQ(hit.source().file(), "train.py");
  EXPECT_EQ(hit.source().line(), 42u);
  EXPECT_THAT(hit.type().shape(), ElementsAre(4));
  EXPECT_EQ(hit.type().framework_dtype(), "toy.float32");

  const v1::StateUpdate pause = session->WaitForPause();
  EXPECT_EQ(pause.reason(), v1::PAUSE_REASON_WATCHPOINT);
  EXPECT_EQ(pause.step(), 2u);
  EXPECT_EQ(pause.node_id(), hit.node_id());
  EXPECT_THAT(pause.watchpoints(), ElementsAre(1));

  v1::TensorRequest request;
  request.set_node("forward/log");
  request.set_slice_text("[1:]");
  request.set_want_data(true);
  request.set_want_statistics(true);
  const v1::TensorData data = session->Tensor(request);
  EXPECT_FALSE(data.has_error()) << data.ShortDebugString();
  EXPECT_EQ(data.header().step(), 2u);
  EXPECT_THAT(data.header().slice_shape(), ElementsAre(3));
  EXPECT_EQ(data.header().statistics().count(), 4u);
  ASSERT_EQ(data.data().size(), 12u);
  float values[3];
  std::memcpy(values, data.data().data(), 12);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], -kInf);
  EXPECT_EQ(values[2], 3);

  request.set_slice_text("[9]");
  EXPECT_EQ(session->Tensor(request).error().reason(), "bad_slice");
  request.set_slice_text("");
  request.set_max_elements(2);
  EXPECT_EQ(session->Tensor(request).error().reason(), "slice_too_large");
  request.set_node("forward/none");
  EXPECT_EQ(session->Tensor(request).error().reason(), "unknown_node");

  session->Continue();
  EXPECT_EQ(training.get(), GRAPHDBG_OK);
  program_.Close();
  EXPECT_EQ(program_.host().retained(), 0);
}

TEST_F(AbiTest, StepsNextNodeAndUntilStopWhereTheySay) {
  ScriptedServer server;
  UseServer(server);
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  auto training = Train([&] {
    graphdbg_status status = program_.Start();
    for (int i = 0; i < 5 && status == GRAPHDBG_OK; ++i) {
      status = program_.Step();
    }
    return status;
  });
  auto session = server.Accept();
  session->Welcome();
  session->WaitForPause();
  session->Step(2);
  v1::StateUpdate pause = session->WaitForPause();
  EXPECT_EQ(pause.reason(), v1::PAUSE_REASON_STEP);
  EXPECT_EQ(pause.step(), 2u);
  EXPECT_TRUE(pause.step_ended());
  EXPECT_EQ(pause.node_id(), 0u);

  // At a step's end the step's values are there, and the parameter's.
  v1::TensorRequest request;
  request.set_node("forward/sum");
  request.set_want_data(true);
  EXPECT_EQ(session->Tensor(request).data().size(), 4u);
  request.set_node("forward/weight");
  EXPECT_EQ(session->Tensor(request).data().size(), 8u);

  session->NextNode();
  pause = session->WaitForPause();
  EXPECT_EQ(pause.reason(), v1::PAUSE_REASON_NODE);
  EXPECT_EQ(pause.step(), 3u);
  EXPECT_EQ(session->NameOf(pause.node_id()), "forward/log");
  EXPECT_FALSE(pause.step_ended());

  session->ContinueTo("forward/sum");
  pause = session->WaitForPause();
  EXPECT_EQ(session->NameOf(pause.node_id()), "forward/sum");

  // Inside a step its own end is the first.
  session->Step(1);
  pause = session->WaitForPause();
  EXPECT_EQ(pause.step(), 3u);
  EXPECT_TRUE(pause.step_ended());

  uint64_t refused = session->ContinueTo("forward/nowhere");
  EXPECT_EQ(session->WaitForResult(refused).error().reason(), "unknown_node");
  refused = session->ContinueTo("forward/weight");
  EXPECT_EQ(session->WaitForResult(refused).error().reason(), "not_executable");

  session->Continue();
  EXPECT_EQ(training.get(), GRAPHDBG_OK);
  // Nothing is watched: only steps are followed.
  EXPECT_EQ(program_.host().level(), GRAPHDBG_LEVEL_STEPS);
  EXPECT_EQ(program_.host().retained(), 0);
  program_.Close();
  EXPECT_EQ(session->WaitForGoodbye().steps(), 5u);
}

TEST_F(AbiTest, LearnsTheGraphInTheFirstStep) {
  setenv("GRAPHDBG_WAIT", "0", 1);
  ScriptedServer server;
  UseServer(server);
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  auto training = Train([&] {
    program_.Start();
    return program_.Step();
  });
  auto session = server.Accept();
  EXPECT_FALSE(session->hello().waits_at_start());
  session->Welcome();
  EXPECT_EQ(training.get(), GRAPHDBG_OK);
  program_.Close();
  session->WaitForGoodbye();
  const auto sum = session->FindNode("forward/sum");
  const auto log = session->FindNode("forward/log");
  ASSERT_TRUE(sum && log);
  EXPECT_EQ(sum->op_type(), "toy::sum");
  EXPECT_EQ(sum->category(), v1::NODE_CATEGORY_ACTIVATION);
  ASSERT_EQ(sum->inputs_size(), 1);
  EXPECT_EQ(sum->inputs(0).node_id(), log->id());
  ASSERT_EQ(log->outputs_size(), 1);
  EXPECT_THAT(log->outputs(0).type().shape(), ElementsAre(4));
  EXPECT_EQ(sum->order(), 2u);
  EXPECT_EQ(sum->first_step(), 1u);
  EXPECT_EQ(log->stack(0).line(), 10u);
}

TEST_F(AbiTest, PausesARunningProgramAndEndsIt) {
  setenv("GRAPHDBG_WAIT", "0", 1);
  ScriptedServer server;
  UseServer(server);
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  auto training = Train([&] {
    graphdbg_status status = program_.Start();
    while (status == GRAPHDBG_OK) status = program_.Step();
    return status;
  });
  auto session = server.Accept();
  session->Welcome();
  session->WaitForRunning();
  const uint64_t refused = session->NextNode();
  EXPECT_EQ(session->WaitForResult(refused).error().reason(), "invalid_state");
  const uint64_t command = session->Pause();
  EXPECT_EQ(session->WaitForPause().reason(), v1::PAUSE_REASON_USER);
  EXPECT_FALSE(session->WaitForResult(command).has_error());
  session->Terminate();
  EXPECT_EQ(training.get(), GRAPHDBG_TERMINATE);
  EXPECT_EQ(program_.Step(), GRAPHDBG_TERMINATE);
  program_.Close(1);
  EXPECT_TRUE(session->WaitForGoodbye().terminated());
}

TEST_F(AbiTest, AnInterruptLeavesTheWait) {
  ScriptedServer server;
  UseServer(server);
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  auto training = Train([&] { return program_.Start(); });
  auto session = server.Accept();
  session->Welcome();
  session->WaitForPause();
  program_.host().Interrupt();
  EXPECT_EQ(training.get(), GRAPHDBG_INTERRUPTED);
  program_.Close();
}

TEST_F(AbiTest, WithoutAServerTrainingGoesOnAfterOneLine) {
  int port;
  {
    ScriptedServer gone;
    port = gone.port();
  }
  setenv("GRAPHDBG_PORT", std::to_string(port).c_str(), 1);
  setenv("GRAPHDBG_CONNECT_TIMEOUT", "0.3", 1);
  CapturedStderr captured;
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  EXPECT_EQ(program_.Start(), GRAPHDBG_DETACHED);
  EXPECT_EQ(program_.Step(), GRAPHDBG_DETACHED);
  EXPECT_EQ(program_.executed(), 0);
  EXPECT_EQ(program_.host().level(), GRAPHDBG_LEVEL_OFF);
  program_.Close();
  EXPECT_EQ(captured.Get(),
            "graphdbg: no server at 127.0.0.1:" + std::to_string(port) +
                " after 0.3 s; training goes on undebugged\n");
}

TEST_F(AbiTest, AWrongTokenIsOneLine) {
  ScriptedServer server("secret");
  UseServer(server);
  setenv("GRAPHDBG_TOKEN", "guess", 1);
  CapturedStderr captured;
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  EXPECT_EQ(program_.Start(), GRAPHDBG_DETACHED);
  program_.Close();
  const std::string lines = captured.Get();
  EXPECT_THAT(lines, HasSubstr("does not accept the token"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1) << lines;
}

TEST_F(AbiTest, TheRightTokenIsAccepted) {
  ScriptedServer server("secret");
  UseServer(server);
  setenv("GRAPHDBG_TOKEN", "secret", 1);
  setenv("GRAPHDBG_WAIT", "0", 1);
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  auto training = Train([&] { return program_.Start(); });
  server.Accept()->Welcome();
  EXPECT_EQ(training.get(), GRAPHDBG_OK);
  program_.Close();
}

TEST_F(AbiTest, AServerOfAnotherWireIsOneLine) {
  ScriptedServer server;
  UseServer(server);
  CapturedStderr captured;
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  auto training = Train([&] { return program_.Start(); });
  server.Accept()->Welcome({"wire/9"});
  EXPECT_EQ(training.get(), GRAPHDBG_DETACHED);
  program_.Close();
  EXPECT_THAT(captured.Get(),
              HasSubstr("no wire in common: here wire/1, there wire/9"));
}

TEST_F(AbiTest, ATakenRankIsOneLine) {
  ScriptedServer server;
  UseServer(server);
  CapturedStderr captured;
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  auto training = Train([&] { return program_.Start(); });
  server.Accept()->Refuse(
      {grpc::StatusCode::ALREADY_EXISTS, "it is process 7 on elsewhere"});
  EXPECT_EQ(training.get(), GRAPHDBG_DETACHED);
  program_.Close();
  EXPECT_THAT(captured.Get(), HasSubstr("rank 0 of job toy-job is taken by "
                                        "another process (it is process 7"));
}

TEST_F(AbiTest, TrainingOutlivesTheServerAndFindsItAgain) {
  setenv("GRAPHDBG_WAIT", "0", 1);
  auto server = std::make_unique<ScriptedServer>();
  UseServer(*server);
  const int port = server->port();
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  auto training = Train([&] { return program_.Start(); });
  auto session = server->Accept();
  const std::string incarnation = session->hello().incarnation();
  session->Welcome();
  EXPECT_EQ(training.get(), GRAPHDBG_OK);
  EXPECT_EQ(program_.Step(), GRAPHDBG_OK);
  server->Stop();
  EXPECT_EQ(program_.Step(), GRAPHDBG_OK);

  server = std::make_unique<ScriptedServer>("", port);
  session = server->Accept();
  EXPECT_EQ(session->hello().incarnation(), incarnation);
  session->Welcome();
  // All is told again.
  EXPECT_EQ(session->WaitForRunning().step(), 2u);
  EXPECT_TRUE(session->FindNode("forward/log"));
  program_.Close();
  session->WaitForGoodbye();
}

TEST_F(AbiTest, APausedProgramGoesOnWhenTheServerStaysAway) {
  setenv("GRAPHDBG_GRACE", "0", 1);
  ScriptedServer server;
  UseServer(server);
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  auto training = Train([&] { return program_.Start(); });
  auto session = server.Accept();
  session->Welcome();
  session->WaitForPause();
  server.Stop();
  EXPECT_EQ(training.get(), GRAPHDBG_OK);
  program_.Close();
}

TEST_F(AbiTest, APausedProgramEndsWithItsServerIfToldTo) {
  setenv("GRAPHDBG_GRACE", "0", 1);
  setenv("GRAPHDBG_ON_DISCONNECT", "stop", 1);
  ScriptedServer server;
  UseServer(server);
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  auto training = Train([&] { return program_.Start(); });
  auto session = server.Accept();
  session->Welcome();
  session->WaitForPause();
  server.Stop();
  EXPECT_EQ(training.get(), GRAPHDBG_TERMINATE);
  program_.Close();
}

TEST_F(AbiTest, AForkedChildIsInertAndTheParentGoesOn) {
  setenv("GRAPHDBG_WAIT", "0", 1);
  ScriptedServer server;
  UseServer(server);
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  auto training = Train([&] { return program_.Start(); });
  auto session = server.Accept();
  session->Welcome();
  EXPECT_EQ(training.get(), GRAPHDBG_OK);
  const pid_t child = fork();
  if (child == 0) {
    // Everything answers at once; no gRPC, no locks, no output.
    const bool inert = program_.Step() == GRAPHDBG_DETACHED &&
                       program_.executed() == 0 &&
                       program_.Close() == GRAPHDBG_DETACHED;
    _exit(inert ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  training = Train([&] {
    graphdbg_status status = GRAPHDBG_OK;
    while (status == GRAPHDBG_OK) status = program_.Step();
    return status;
  });
  session->Pause();
  session->WaitForPause();
  session->Terminate();
  EXPECT_EQ(training.get(), GRAPHDBG_TERMINATE);
  program_.Close();
  session->WaitForGoodbye();
}

TEST_F(AbiTest, WrongUseIsAnErrorAndNoMore) {
  const AgentFunctions functions = Load();
  EXPECT_EQ(functions.open(nullptr, nullptr), GRAPHDBG_INVALID_ARGUMENT);
  graphdbg_agent* agent;
  graphdbg_options options = {};
  options.struct_size = sizeof(options);
  options.abi_version = 99;
  EXPECT_EQ(functions.open(&options, &agent), GRAPHDBG_INVALID_ARGUMENT);
  EXPECT_STRNE(functions.last_error(), "");

  setenv("GRAPHDBG_WAIT", "0", 1);
  ScriptedServer server;
  UseServer(server);
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  auto training = Train([&] { return program_.Start(); });
  server.Accept()->Welcome();
  training.get();
  agent = program_.agent();
  EXPECT_EQ(functions.interest(agent, 0), 0);
  EXPECT_EQ(functions.interest(agent, 4'000'000'000u), 0);
  graphdbg_execution execution = {};
  EXPECT_EQ(functions.executed(agent, nullptr), GRAPHDBG_INVALID_ARGUMENT);
  EXPECT_EQ(functions.executed(agent, &execution), GRAPHDBG_INVALID_ARGUMENT);
  execution.struct_size = sizeof(execution);
  execution.node = 77;
  EXPECT_EQ(functions.executed(agent, &execution), GRAPHDBG_INVALID_ARGUMENT);
  uint32_t node;
  graphdbg_node_info info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(functions.declare_node(agent, &info, &node),
            GRAPHDBG_INVALID_ARGUMENT);
  EXPECT_EQ(functions.bind_tensor(agent, 99, nullptr),
            GRAPHDBG_INVALID_ARGUMENT);
  program_.Close();
  EXPECT_EQ(program_.Close(), GRAPHDBG_DETACHED);
  EXPECT_EQ(program_.Step(), GRAPHDBG_DETACHED);
}

}  // namespace
}  // namespace graphdbg::agent
