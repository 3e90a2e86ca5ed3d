// Failures must not harm the program: a missing, wrong or lost server, forks,
// and wrong use of the interface.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "agent/abi/abi_fixture.h"

namespace graphdbg::agent {
namespace {

using ::testing::HasSubstr;

class AbiFailuresTest : public AbiFixture {};

TEST_F(AbiFailuresTest, IsDetachedUnlessEnabled) {
  setenv("GRAPHDBG_ENABLE", "0", 1);
  EXPECT_EQ(program_.Open(), GRAPHDBG_DETACHED);
  EXPECT_EQ(program_.agent(), nullptr);
  EXPECT_EQ(program_.Start(), GRAPHDBG_DETACHED);
  EXPECT_EQ(program_.Step(), GRAPHDBG_DETACHED);
  EXPECT_EQ(program_.executed(), 0);
  EXPECT_EQ(program_.Close(), GRAPHDBG_DETACHED);
}

TEST_F(AbiFailuresTest, WithoutAServerTrainingContinuesAndALateOneFindsIt) {
  int port;
  {
    ScriptedServer gone;
    port = gone.port();
  }
  setenv("GRAPHDBG_PORT", std::to_string(port).c_str(), 1);
  setenv("GRAPHDBG_CONNECT_TIMEOUT", "0.3", 1);
  CapturedStderr captured;
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  EXPECT_EQ(program_.Start(), GRAPHDBG_OK);
  EXPECT_EQ(program_.Step(), GRAPHDBG_OK);
  EXPECT_EQ(program_.Step(), GRAPHDBG_OK);
  // Nothing but steps is followed meanwhile.
  EXPECT_EQ(program_.host().level(), GRAPHDBG_LEVEL_STEPS);

  Serve("", port);
  auto session = server_->Accept();
  // It is too late to wait before the first step.
  EXPECT_FALSE(session->hello().waits_at_start());
  session->Welcome();
  EXPECT_EQ(session->WaitForRunning().step(), 2u);
  EXPECT_TRUE(session->FindNode("forward/log"));
  Train([&] {
    graphdbg_status status = GRAPHDBG_OK;
    while (status == GRAPHDBG_OK) status = program_.Step();
    return status;
  });
  session->Pause();
  EXPECT_EQ(session->WaitForPause().reason(), v1::PAUSE_REASON_USER);
  session->Terminate();
  EXPECT_EQ(training_.get(), GRAPHDBG_TERMINATE);
  program_.Close();
  session->WaitForGoodbye();
  const std::string address = "127.0.0.1:" + std::to_string(port);
  EXPECT_EQ(captured.Get(),
            "graphdbg: found no server at " + address +
                " within 0.3 s; training continues, and can be debugged once "
                "one is started\n"
                "graphdbg: found a server at " +
                address + "\n");
}

TEST_F(AbiFailuresTest, AWrongTokenIsOneLine) {
  Serve("secret");
  setenv("GRAPHDBG_TOKEN", "guess", 1);
  CapturedStderr captured;
  ASSERT_EQ(program_.Open(), GRAPHDBG_OK);
  EXPECT_EQ(program_.Start(), GRAPHDBG_DETACHED);
  program_.Close();
  const std::string lines = captured.Get();
  EXPECT_THAT(lines, HasSubstr("does not accept the token"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1) << lines;
}

TEST_F(AbiFailuresTest, TheRightTokenIsAccepted) {
  Serve("secret");
  setenv("GRAPHDBG_TOKEN", "secret", 1);
  setenv("GRAPHDBG_WAIT", "0", 1);
  auto session = Attach([&] { return program_.Start(); });
  session->Welcome();
  EXPECT_EQ(training_.get(), GRAPHDBG_OK);
  program_.Close();
}

TEST_F(AbiFailuresTest, AServerOfAnotherWireIsOneLine) {
  CapturedStderr captured;
  auto session = Attach([&] { return program_.Start(); });
  session->Welcome({"wire/9"});
  EXPECT_EQ(training_.get(), GRAPHDBG_DETACHED);
  program_.Close();
  EXPECT_THAT(
      captured.Get(),
      HasSubstr("no common wire version: this side supports wire/1, the peer "
                "supports wire/9"));
}

TEST_F(AbiFailuresTest, ATakenRankIsOneLine) {
  CapturedStderr captured;
  auto session = Attach([&] { return program_.Start(); });
  session->Refuse(
      {grpc::StatusCode::ALREADY_EXISTS, "it is process 7 on elsewhere"});
  EXPECT_EQ(training_.get(), GRAPHDBG_DETACHED);
  program_.Close();
  EXPECT_THAT(captured.Get(),
              HasSubstr("already has rank 0 of job toy-job from "
                        "another process (it is process 7"));
}

TEST_F(AbiFailuresTest, TrainingOutlivesTheServerAndFindsItAgain) {
  setenv("GRAPHDBG_WAIT", "0", 1);
  auto session = Attach([&] { return program_.Start(); });
  const int port = server_->port();
  const std::string incarnation = session->hello().incarnation();
  session->Welcome();
  EXPECT_EQ(training_.get(), GRAPHDBG_OK);
  EXPECT_EQ(program_.Step(), GRAPHDBG_OK);
  server_->Stop();
  EXPECT_EQ(program_.Step(), GRAPHDBG_OK);

  Serve("", port);
  session = server_->Accept();
  EXPECT_EQ(session->hello().incarnation(), incarnation);
  session->Welcome();
  // The whole state is sent again.
  EXPECT_EQ(session->WaitForRunning().step(), 2u);
  EXPECT_TRUE(session->FindNode("forward/log"));
  program_.Close();
  session->WaitForGoodbye();
}

TEST_F(AbiFailuresTest, APausedProgramGoesOnWhenTheServerStaysAway) {
  setenv("GRAPHDBG_GRACE", "0", 1);
  auto session = Attach([&] { return program_.Start(); });
  session->Welcome();
  session->WaitForPause();
  server_->Stop();
  EXPECT_EQ(training_.get(), GRAPHDBG_OK);
  program_.Close();
}

TEST_F(AbiFailuresTest, APausedProgramEndsWithItsServerIfToldTo) {
  setenv("GRAPHDBG_GRACE", "0", 1);
  setenv("GRAPHDBG_ON_DISCONNECT", "stop", 1);
  auto session = Attach([&] { return program_.Start(); });
  session->Welcome();
  session->WaitForPause();
  server_->Stop();
  EXPECT_EQ(training_.get(), GRAPHDBG_TERMINATE);
  program_.Close();
}

TEST_F(AbiFailuresTest, ARunningProgramIsLeftByItsServerIfToldTo) {
  setenv("GRAPHDBG_GRACE", "0", 1);
  setenv("GRAPHDBG_WAIT", "0", 1);
  setenv("GRAPHDBG_ON_DISCONNECT", "detach", 1);
  auto session = Attach([&] { return program_.Start(); });
  session->Welcome();
  EXPECT_EQ(training_.get(), GRAPHDBG_OK);
  EXPECT_EQ(program_.Step(), GRAPHDBG_OK);
  server_->Stop();
  while (program_.Step() == GRAPHDBG_OK) {
  }
  EXPECT_EQ(program_.Step(), GRAPHDBG_DETACHED);
  EXPECT_EQ(program_.host().retained(), 0);
  EXPECT_EQ(program_.Close(), GRAPHDBG_DETACHED);
}

TEST_F(AbiFailuresTest, WithoutAServerAProgramThatIsNotToWaitIsLeft) {
  setenv("GRAPHDBG_CONNECT_TIMEOUT", "0", 1);
  setenv("GRAPHDBG_ON_DISCONNECT", "detach", 1);
  setenv("GRAPHDBG_PORT", "1", 1);
  EXPECT_EQ(program_.Open(), GRAPHDBG_OK);
  EXPECT_EQ(program_.Start(), GRAPHDBG_DETACHED);
  program_.Close();
}

TEST_F(AbiFailuresTest, OpensAgainAndAgain) {
  setenv("GRAPHDBG_WAIT", "0", 1);
  Serve();
  for (int cycle = 0; cycle < 10; ++cycle) {
    ToyProgram program{LoadAgent()};
    EXPECT_EQ(program.Open(), GRAPHDBG_OK);
    Train([&] { return program.Start(); });
    auto session = server_->Accept();
    session->Welcome();
    EXPECT_EQ(training_.get(), GRAPHDBG_OK);
    EXPECT_EQ(program.Step(), GRAPHDBG_OK);
    program.Close();
    session->WaitForGoodbye();
    EXPECT_EQ(program.host().retained(), 0);
    EXPECT_EQ(program.Step(), GRAPHDBG_DETACHED);
  }
}

TEST_F(AbiFailuresTest, AForkedChildIsInertAndTheParentGoesOn) {
  setenv("GRAPHDBG_WAIT", "0", 1);
  auto session = Attach([&] { return program_.Start(); });
  session->Welcome();
  EXPECT_EQ(training_.get(), GRAPHDBG_OK);
  const pid_t child = fork();
  if (child == 0) {
    // Every function returns at once, without gRPC, locks and output.
    const bool inert = program_.Step() == GRAPHDBG_DETACHED &&
                       program_.executed() == 0 &&
                       program_.Close() == GRAPHDBG_DETACHED;
    _exit(inert ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Train([&] {
    graphdbg_status status = GRAPHDBG_OK;
    while (status == GRAPHDBG_OK) status = program_.Step();
    return status;
  });
  session->Pause();
  session->WaitForPause();
  session->Terminate();
  EXPECT_EQ(training_.get(), GRAPHDBG_TERMINATE);
  program_.Close();
  session->WaitForGoodbye();
}

TEST_F(AbiFailuresTest, WrongUseIsAnErrorAndNoMore) {
  const AgentFunctions functions = LoadAgent();
  EXPECT_EQ(functions.open(nullptr, nullptr), GRAPHDBG_INVALID_ARGUMENT);
  graphdbg_agent* agent;
  graphdbg_options options = {};
  options.struct_size = sizeof(options);
  options.abi_version = 99;
  EXPECT_EQ(functions.open(&options, &agent), GRAPHDBG_INVALID_ARGUMENT);
  EXPECT_STRNE(functions.last_error(), "");

  setenv("GRAPHDBG_WAIT", "0", 1);
  auto session = Attach([&] { return program_.Start(); });
  session->Welcome();
  training_.get();
  agent = program_.agent();
  EXPECT_EQ(functions.interest(agent, 0), 0);
  EXPECT_EQ(functions.interest(agent, 4'000'000'000u), 0);
  graphdbg_node_info added = {};
  added.struct_size = sizeof(added);
  added.name = "new";
  added.kind = GRAPHDBG_OP;
  uint32_t nodes[] = {0, 0};
  EXPECT_EQ(functions.declare_node(agent, &added, &nodes[1]), GRAPHDBG_OK);
  uint8_t interests[] = {7, 7};
  EXPECT_EQ(functions.interests(agent, nodes, 2, interests),
            GRAPHDBG_INTEREST_OPTIONAL);
  EXPECT_THAT(interests, testing::ElementsAre(GRAPHDBG_INTEREST_NONE,
                                              GRAPHDBG_INTEREST_OPTIONAL));
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
