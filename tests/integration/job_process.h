// Runs toy_job, a program that is debugged, as a process of its own.
#ifndef TESTS_INTEGRATION_JOB_PROCESS_H_
#define TESTS_INTEGRATION_JOB_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

namespace graphdbg::integration {

// Not thread-safe. The destructor kills the process.
class JobProcess {
 public:
  // `variables` are added to the environment, after GRAPHDBG_ENABLE,
  // GRAPHDBG_JOB=toy and GRAPHDBG_PORT.
  explicit JobProcess(uint16_t debugger_port,
                      std::map<std::string, std::string> variables = {});
  ~JobProcess();

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // Lets the program end after its current step, waits for it, and returns its
  // exit code, or -1 if a signal ended it.
  int Finish();
  // The lines on standard error so far, or all of them after Finish.
  std::string Errors() const;

 private:
  pid_t pid_ = -1;
  // The program's standard input.
  int input_ = -1;
  std::string errors_file_;
};

}  // namespace graphdbg::integration

#endif  // TESTS_INTEGRATION_JOB_PROCESS_H_
