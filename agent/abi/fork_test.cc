// Forks a program a thousand times while it is being debugged, with hits,
// pauses and requests for values.
#include <stdlib.h>
#include <sys/wait.h>

#include <future>
#include <string>

#include "agent/testing/scripted_server.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

int ExitCodeOf(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

v1::SetWatchpoint NanEverywhere() {
  v1::SetWatchpoint watchpoint;
  watchpoint.set_id(1);
  watchpoint.set_revision(1);
  watchpoint.mutable_condition()->set_id("nan");
  watchpoint.set_pause(v1::PAUSE_MODE_NONE);
  watchpoint.set_enabled(true);
  return watchpoint;
}

// Returns false if the program ends instead.
bool PausesAgain(ScriptedSession* session) {
  session->Pause();
  const v1::AgentMessage message =
      session->WaitFor([](const v1::AgentMessage& m) {
        return m.has_goodbye() || m.state().state() == v1::RUN_STATE_PAUSED;
      });
  return message.has_state();
}

TEST(ForkTest, AThousandForksUnderLoadBlockNobody) {
  ScriptedServer server;
  // Not with setenv, because the server's threads read the environment. Leaks
  // are not detected, because children cannot free what other threads of the
  // forking program held.
  const std::string command =
      "ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 "
      "GRAPHDBG_ENABLE=1 GRAPHDBG_WAIT=0 GRAPHDBG_JOB=forks GRAPHDBG_PORT=" +
      std::to_string(server.port()) + " agent/abi/fork_program 1000";
  auto code =
      std::async(std::launch::async, [&] { return ExitCodeOf(command); });
  auto session = server.Accept();
  session->Welcome();
  EXPECT_FALSE(session->Watch(NanEverywhere()).has_error());
  v1::TensorRequest request;
  request.set_node("forward/weight");
  request.set_want_data(true);
  int pauses = 0;
  while (PausesAgain(session.get())) {
    ++pauses;
    EXPECT_EQ(session->Tensor(request).data().size(), 8u);
    session->Continue();
  }
  EXPECT_EQ(code.get(), 0);
  EXPECT_GT(pauses, 10);
}

}  // namespace
}  // namespace graphdbg::agent
