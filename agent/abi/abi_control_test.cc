// Control of the program: the start, pauses, steps and the end.
#include <unistd.h>

#include <string>

#include "agent/abi/abi_fixture.h"

namespace graphdbg::agent {
namespace {

class AbiControlTest : public AbiFixture {};

TEST_F(AbiControlTest, SaysWhoItIsAndWaitsAtTheStart) {
  auto session = Attach([&] { return program_.Start(); });
  EXPECT_EQ(session->hello().job(), "toy-job");
  EXPECT_EQ(session->hello().job_name(), "abi_control_test");
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
  EXPECT_EQ(training_.get(), GRAPHDBG_OK);
  EXPECT_GT(program_.host().waits(), 0);
  EXPECT_EQ(program_.Close(3), GRAPHDBG_OK);
  const v1::Goodbye goodbye = session->WaitForGoodbye();
  EXPECT_EQ(goodbye.exit_code(), 3);
  EXPECT_FALSE(goodbye.terminated());
  EXPECT_EQ(program_.host().level(), GRAPHDBG_LEVEL_OFF);
}

TEST_F(AbiControlTest, StepsNextNodeAndUntilStopWhereTheySay) {
  auto session = Attach([&] {
    graphdbg_status status = program_.Start();
    for (int i = 0; i < 5 && status == GRAPHDBG_OK; ++i) {
      status = program_.Step();
    }
    return status;
  });
  session->Welcome();
  session->WaitForPause();
  session->Step(2);
  v1::StateUpdate pause = session->WaitForPause();
  EXPECT_EQ(pause.reason(), v1::PAUSE_REASON_STEP);
  EXPECT_EQ(pause.step(), 2u);
  EXPECT_TRUE(pause.step_ended());
  EXPECT_EQ(pause.node_id(), 0u);

  // At the end of a step, the values of the step and of parameters are
  // available.
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

  // Within a step, its own end counts as the first.
  session->Step(1);
  pause = session->WaitForPause();
  EXPECT_EQ(pause.step(), 3u);
  EXPECT_TRUE(pause.step_ended());

  uint64_t refused = session->ContinueTo("forward/nowhere");
  EXPECT_EQ(session->WaitForResult(refused).error().reason(), "unknown_node");
  refused = session->ContinueTo("forward/weight");
  EXPECT_EQ(session->WaitForResult(refused).error().reason(), "not_executable");

  session->Continue();
  EXPECT_EQ(training_.get(), GRAPHDBG_OK);
  // Nothing is watched, so that only steps are followed.
  EXPECT_EQ(program_.host().level(), GRAPHDBG_LEVEL_STEPS);
  EXPECT_EQ(program_.host().retained(), 0);
  program_.Close();
  EXPECT_EQ(session->WaitForGoodbye().steps(), 5u);
}

TEST_F(AbiControlTest, PausesARunningProgramAndEndsIt) {
  setenv("GRAPHDBG_WAIT", "0", 1);
  auto session = Attach([&] {
    graphdbg_status status = program_.Start();
    while (status == GRAPHDBG_OK) status = program_.Step();
    return status;
  });
  session->Welcome();
  session->WaitForRunning();
  const uint64_t refused = session->NextNode();
  EXPECT_EQ(session->WaitForResult(refused).error().reason(), "invalid_state");
  const uint64_t command = session->Pause();
  EXPECT_EQ(session->WaitForPause().reason(), v1::PAUSE_REASON_USER);
  EXPECT_FALSE(session->WaitForResult(command).has_error());
  session->Terminate();
  EXPECT_EQ(training_.get(), GRAPHDBG_TERMINATE);
  EXPECT_EQ(program_.Step(), GRAPHDBG_TERMINATE);
  program_.Close(1);
  EXPECT_TRUE(session->WaitForGoodbye().terminated());
}

TEST_F(AbiControlTest, AnInterruptLeavesTheWait) {
  auto session = Attach([&] { return program_.Start(); });
  session->Welcome();
  session->WaitForPause();
  program_.host().Interrupt();
  EXPECT_EQ(training_.get(), GRAPHDBG_INTERRUPTED);
  program_.Close();
}

}  // namespace
}  // namespace graphdbg::agent
