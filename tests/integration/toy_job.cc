// A program that is debugged: steps until its standard input is closed. The
// environment configures its agent, as that of any job.
//
// Exits with 0 if all steps ran, and with 3 if it was terminated.
#include <fcntl.h>
#include <unistd.h>

#include <thread>

#include "agent/include/graphdbg/agent.h"
#include "agent/testing/toy_program.h"

namespace graphdbg::agent {
namespace {

constexpr int kTerminated = 3;

bool IsInputClosed() {
  char byte;
  return read(STDIN_FILENO, &byte, 1) == 0;
}

int Run() {
  ToyProgram program({graphdbg_open, graphdbg_close, graphdbg_declare_node,
                      graphdbg_declare_scope, graphdbg_bind_tensor,
                      graphdbg_interest, graphdbg_interests, graphdbg_start,
                      graphdbg_executed, graphdbg_step_end,
                      graphdbg_last_error});
  fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  program.Open();
  graphdbg_status status = program.Start();
  while (status != GRAPHDBG_TERMINATE && !IsInputClosed()) {
    status = program.Step();
    // Leaves the processor to the test.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const int code = status == GRAPHDBG_TERMINATE ? kTerminated : 0;
  program.Close(code);
  return code;
}

}  // namespace
}  // namespace graphdbg::agent

int main() { return graphdbg::agent::Run(); }
