#include "tests/integration/job_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

namespace graphdbg::integration {
namespace {

constexpr char kProgram[] = "tests/integration/toy_job";

// Sanitizers read their options from these.
constexpr const char* kSanitizerOptions[] = {"ASAN_OPTIONS", "LSAN_OPTIONS",
                                             "TSAN_OPTIONS", "UBSAN_OPTIONS"};

// A file for each process of the test.
std::string NewErrorsFile() {
  static int count = 0;
  return testing::TempDir() + "/toy_job_errors_" + std::to_string(++count);
}

}  // namespace

JobProcess::JobProcess(uint16_t debugger_port,
                       std::map<std::string, std::string> variables)
    : errors_file_(NewErrorsFile()) {
  variables.insert({{"GRAPHDBG_ENABLE", "1"},
                    {"GRAPHDBG_JOB", "toy"},
                    {"GRAPHDBG_PORT", std::to_string(debugger_port)}});
  for (const char* name : kSanitizerOptions) {
    if (const char* value = getenv(name)) variables.insert({name, value});
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) {
    environment.push_back(name + "=" + value);
  }
  std::vector<char*> envp;
  for (std::string& each : environment) envp.push_back(each.data());
  envp.push_back(nullptr);
  int input[2] = {};
  EXPECT_EQ(pipe2(input, O_CLOEXEC), 0);
  const int errors = open(errors_file_.c_str(),
                          O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  EXPECT_GE(errors, 0);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(input[0], STDIN_FILENO);
    dup2(errors, STDERR_FILENO);
    char* argv[] = {const_cast<char*>(kProgram), nullptr};
    execve(kProgram, argv, envp.data());
    _exit(127);
  }
  close(input[0]);
  close(errors);
  input_ = input[1];
}

JobProcess::~JobProcess() {
  if (input_ >= 0) close(input_);
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void JobProcess::Signal(int signal) const { EXPECT_EQ(kill(pid_, signal), 0); }

int JobProcess::Finish() {
  close(std::exchange(input_, -1));
  int status = 0;
  EXPECT_EQ(waitpid(std::exchange(pid_, -1), &status, 0) > 0, true);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string JobProcess::Errors() const {
  std::ifstream file(errors_file_);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace graphdbg::integration
