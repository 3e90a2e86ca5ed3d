#include "server/relay/progress.h"

#include <gtest/gtest.h>

#include "proto/wire/frame.h"

namespace graphdbg::relay {
namespace {

using Kind = Progress::Kind;

v1::StateUpdate Running(uint64_t step) {
  v1::StateUpdate state;
  state.set_state(v1::RUN_STATE_RUNNING);
  state.set_step(step);
  return state;
}

Progress Of(const v1::StateUpdate& state) {
  v1::AgentMessage message;
  *message.mutable_state() = state;
  return ProgressOf(wire::EncodeFrame(&message));
}

TEST(Progress, DiffersInTheStepAndTheOverheadOnly) {
  v1::StateUpdate ended = Running(4);
  ended.set_step_ended(true);
  EXPECT_EQ(Of(Running(3)).kind, Kind::kRunning);
  EXPECT_EQ(Of(Running(3)).what, Of(ended).what);
  v1::StateUpdate measured = Running(5);
  measured.set_overhead(0.5);
  EXPECT_EQ(Of(Running(3)).what, Of(measured).what);
}

TEST(Progress, AStateThatSaysMoreIsNotTheSame) {
  v1::StateUpdate pauses = Running(4);
  pauses.set_pauses_after(5);
  EXPECT_NE(Of(Running(3)).what, Of(pauses).what);
}

TEST(Progress, APauseIsAChange) {
  v1::StateUpdate paused = Running(4);
  paused.set_state(v1::RUN_STATE_PAUSED);
  EXPECT_EQ(Of(paused).kind, Kind::kChange);
}

TEST(Progress, OtherMessagesAndNonsenseAreNoState) {
  v1::AgentMessage message;
  message.mutable_log()->set_message("a line");
  EXPECT_EQ(ProgressOf(wire::EncodeFrame(&message)).kind, Kind::kOther);
  const grpc::Slice nonsense("\x1a\xff\xff");
  EXPECT_EQ(ProgressOf(grpc::ByteBuffer(&nonsense, 1)).kind, Kind::kOther);
}

}  // namespace
}  // namespace graphdbg::relay
