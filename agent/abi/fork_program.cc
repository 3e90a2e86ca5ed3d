// Trains in one thread while another thread forks children, which try to use
// the agent and then exit in one of two ways. Used by fork_test.
//
//   fork_program COUNT
//
// Exits with 0 on success; otherwise prints what failed.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "agent/include/graphdbg/agent.h"
#include "agent/testing/toy_program.h"

namespace graphdbg::agent {
namespace {

// A child that hangs is killed after this many seconds.
constexpr unsigned kChildLimit = 30;

AgentFunctions Linked() {
  return {graphdbg_open,          graphdbg_close,       graphdbg_declare_node,
          graphdbg_declare_scope, graphdbg_bind_tensor, graphdbg_interest,
          graphdbg_interests,     graphdbg_start,       graphdbg_executed,
          graphdbg_step_end,      graphdbg_last_error};
}

// Whether every function returns at once in the child.
bool IsInert(ToyProgram* program) {
  const int executed = program->executed();
  return program->Step() == GRAPHDBG_DETACHED &&
         program->executed() == executed &&
         program->Close() == GRAPHDBG_DETACHED;
}

bool ForkOne(ToyProgram* program, bool runs_exit_handlers) {
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    alarm(kChildLimit);
    const int code = IsInert(program) ? 0 : 1;
    if (runs_exit_handlers) exit(code);
    _exit(code);
  }
  int status = -1;
  if (waitpid(child, &status, 0) == child && status == 0) return true;
  fprintf(stderr, "a child ended with status %d\n", status);
  return false;
}

int Run(int count) {
  ToyProgram program(Linked());
  if (program.Open() != GRAPHDBG_OK || program.Start() != GRAPHDBG_OK) return 2;
  // Causes a hit in each step.
  program.y()[0] = std::nanf("");
  std::atomic<bool> stop{false};
  std::atomic<int> steps{0};
  std::thread training([&] {
    while (!stop && program.Step() == GRAPHDBG_OK) ++steps;
  });
  int good = 0;
  while (good < count && ForkOne(&program, good % 2 == 0)) ++good;
  stop = true;
  training.join();
  if (steps == 0) fprintf(stderr, "no step ended meanwhile\n");
  const bool closed = program.Close() == GRAPHDBG_OK;
  if (!closed) fprintf(stderr, "the agent is not there any more\n");
  return good == count && steps > 0 && closed ? 0 : 1;
}

}  // namespace
}  // namespace graphdbg::agent

int main(int argc, char** argv) {
  return graphdbg::agent::Run(argc > 1 ? atoi(argv[1]) : 0);
}
