#include "agent/inject/tracee.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "agent/inject/failure.h"
#include "agent/inject/permission.h"
#include "agent/inject/process.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::inject {

namespace {

constexpr int kSystemCallStop = SIGTRAP | 0x80;
// Bits of signals that the thread itself raises; they cannot wait.
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

bool IsFault(int signal) {
  return std::find(std::begin(kFaults), std::end(kFaults), signal) !=
         std::end(kFaults);
}

absl::Status Errno(absl::string_view what) {
  return absl::InternalError(absl::StrCat(what, ": ", std::strerror(errno)));
}

absl::Status Ended(pid_t thread) {
  return Failure("ended", absl::StrCat("process ", thread, " has ended"));
}

absl::Status Traced(pid_t pid, pid_t tracer) {
  std::string name = ReadProcFile(tracer, "comm");
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return Failure("traced",
                 absl::StrCat(name.empty() ? "a debugger" : name, " (pid ",
                              tracer, ") is tracing process ", pid));
}

// Waits until a child has changed its state, or something else has happened.
void AwaitChild(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(
      deadline - Clock::now());
  if (left.count() <= 0) return;
  timespec time;
  time.tv_sec = left.count() / 1000000000;
  time.tv_nsec = left.count() % 1000000000;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigtimedwait(&set, nullptr, &time);
}

}  // namespace

absl::StatusOr<Tracee> Tracee::Seize(pid_t thread) {
  // The kernel reports stops by this signal.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  if (ptrace(PTRACE_SEIZE, thread, nullptr, PTRACE_O_TRACESYSGOOD) == 0) {
    return Tracee(thread);
  }
  if (errno == ESRCH) {
    return Failure("no_process", absl::StrCat("no process ", thread));
  }
  if (errno != EPERM) return Errno("cannot trace the process");
  ASSIGN_OR_RETURN(const ProcessStatus status, ReadStatus(thread));
  if (status.tracer != 0) return Traced(thread, status.tracer);
  return ExplainRefusal(thread);
}

Tracee::Tracee(Tracee&& other) noexcept
    : thread_(other.thread_),
      attached_(other.attached_),
      stopped_(other.stopped_),
      to_system_call_(other.to_system_call_) {
  other.attached_ = false;
}

Tracee::~Tracee() {
  if (attached_ && stopped_) ptrace(PTRACE_DETACH, thread_, nullptr, nullptr);
}

absl::Status Tracee::Interrupt() {
  if (ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) != 0) {
    return errno == ESRCH ? Ended(thread_) : Errno("cannot stop the thread");
  }
  return absl::OkStatus();
}

absl::Status Tracee::RunFreely() {
  to_system_call_ = false;
  return Resume(0);
}

absl::Status Tracee::RunToSystemCall() {
  to_system_call_ = true;
  return Resume(0);
}

absl::Status Tracee::Resume(int signal) {
  const auto request = to_system_call_ ? PTRACE_SYSCALL : PTRACE_CONT;
  stopped_ = false;
  if (ptrace(request, thread_, nullptr, signal) != 0) {
    return errno == ESRCH ? Ended(thread_) : Errno("cannot resume the thread");
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Tracee::NextStatus(Clock::time_point deadline) {
  for (;;) {
    int status = 0;
    const pid_t changed = waitpid(thread_, &status, __WALL | WNOHANG);
    if (changed == thread_) return status;
    if (changed < 0 && errno != EINTR) {
      attached_ = false;
      return Ended(thread_);
    }
    if (Clock::now() >= deadline) {
      return absl::DeadlineExceededError("the thread does not stop");
    }
    AwaitChild(deadline);
  }
}

absl::StatusOr<Stop> Tracee::Wait(Clock::time_point deadline) {
  for (;;) {
    ASSIGN_OR_RETURN(const int status, NextStatus(deadline));
    if (!WIFSTOPPED(status)) {
      attached_ = false;
      return Ended(thread_);
    }
    stopped_ = true;
    const int signal = WSTOPSIG(status);
    if (status >> 16 == PTRACE_EVENT_STOP) {
      // Otherwise it was stopped by a signal, which takes effect after Detach.
      if (signal == SIGTRAP) return Stop::kInterrupted;
      RETURN_IF_ERROR(Resume(0));
      continue;
    }
    if (signal == kSystemCallStop) return Stop::kSystemCall;
    if (to_system_call_ && IsFault(signal)) return Stop::kFault;
    RETURN_IF_ERROR(Resume(signal));
  }
}

absl::Status Tracee::BlockSignals() {
  uint64_t mask = ~uint64_t{0};
  for (const int each : kFaults) mask &= ~(uint64_t{1} << (each - 1));
  return SetSignalMask(mask);
}

absl::Status Tracee::SetSignalMask(uint64_t mask) {
  if (ptrace(PTRACE_SETSIGMASK, thread_, sizeof(mask), &mask) != 0) {
    return Errno("cannot set the signal mask");
  }
  return absl::OkStatus();
}

absl::Status Tracee::Detach() {
  attached_ = false;
  if (ptrace(PTRACE_DETACH, thread_, nullptr, nullptr) != 0) {
    return errno == ESRCH ? Ended(thread_) : Errno("cannot detach");
  }
  return absl::OkStatus();
}

}  // namespace graphdbg::inject
