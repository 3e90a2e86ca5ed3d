// A thread under ptrace.
#ifndef AGENT_INJECT_TRACEE_H_
#define AGENT_INJECT_TRACEE_H_

#include <sys/types.h>

#include <chrono>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg::inject {

using Clock = std::chrono::steady_clock;

enum class Stop {
  kInterrupted,  // By Interrupt().
  kSystemCall,   // Before or after a system call.
  kFault,        // A synchronous signal, which is not delivered.
};

// Lets go of the thread when it is destroyed, and so does the kernel when this
// process dies.
class Tracee {
 public:
  // Becomes the tracer of a thread, which runs on.
  //
  // Errors: "no_process", "traced", "not_permitted" and others that say why.
  static absl::StatusOr<Tracee> Seize(pid_t thread);

  Tracee(Tracee&& other) noexcept;
  Tracee& operator=(Tracee&&) = delete;
  ~Tracee();

  pid_t thread() const { return thread_; }
  bool is_stopped() const { return stopped_; }

  // Asks the thread to stop; Wait returns when it has.
  absl::Status Interrupt();

  // Lets the thread run until it is interrupted.
  absl::Status RunFreely();

  // Lets the thread run until its next system call begins or ends.
  absl::Status RunToSystemCall();

  // Waits for the next stop. Signals that arrive meanwhile are delivered.
  //
  // Errors: DeadlineExceeded; "ended" if the process ends.
  absl::StatusOr<Stop> Wait(Clock::time_point deadline);

  // Blocks signals other than those of faults until the mask is set again.
  absl::Status BlockSignals();
  absl::Status SetSignalMask(uint64_t mask);

  // Lets the stopped thread run on its own.
  absl::Status Detach();

 private:
  explicit Tracee(pid_t thread) : thread_(thread) {}

  absl::StatusOr<int> NextStatus(Clock::time_point deadline);
  absl::Status Resume(int signal);

  pid_t thread_;
  bool attached_ = true;
  bool stopped_ = false;
  // Run on to the next system call, not to the next event.
  bool to_system_call_ = false;
};

}  // namespace graphdbg::inject

#endif  // AGENT_INJECT_TRACEE_H_
