#include "agent/inject/inject.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/inject/failure.h"
#include "agent/inject/lock_wait.h"
#include "agent/inject/machine.h"
#include "agent/inject/process.h"
#include "agent/inject/python_process.h"
#include "agent/inject/restartable_sequence.h"
#include "agent/inject/tracee.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::inject {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kStopLimit{2};
constexpr seconds kCallLimit{1};
// What a call needs below the frame.
constexpr uint64_t kCallStackBytes = 4096;
// Places where a call is impossible are left within microseconds.
constexpr int kPlaces = 50;
constexpr milliseconds kBetweenPlaces{1};

// A description of what the process is doing in the kernel.
absl::Status InKernel(pid_t pid) {
  const std::string where = ReadProcFile(pid, "wchan");
  const bool known = !where.empty() && where != "0";
  return Failure(
      "in_kernel",
      absl::StrCat("process ", pid, " is in the kernel",
                   known ? absl::StrCat(" (", where, ")") : "", "; try again"));
}

absl::Status CheckState(pid_t pid) {
  ASSIGN_OR_RETURN(const ProcessStatus status, ReadStatus(pid));
  if (status.state == 'T') {
    return Failure("stopped", absl::StrCat("process ", pid,
                                           " is stopped (SIGSTOP); kill -CONT ",
                                           pid, " first"));
  }
  if (status.has_shadow_stack) {
    return Failure("shadow_stack",
                   absl::StrCat("process ", pid,
                                " runs with a shadow stack, which prevents "
                                "calls from outside"));
  }
  return absl::OkStatus();
}

// The stop of the thread, from the request on.
class Session {
 public:
  Session(const PythonProcess& process, const Gadgets& gadgets, Tracee tracee,
          const OnStep& on_step)
      : process_(process),
        gadgets_(gadgets),
        tracee_(std::move(tracee)),
        on_step_(on_step) {}

  absl::StatusOr<Injection> Run(std::string text);

 private:
  absl::Status StopAtUsablePlace();
  bool IsPlaceUsable();
  absl::StatusOr<uint64_t> MapMemory(size_t size);
  absl::Status WriteText(std::string text, uint64_t address);
  absl::StatusOr<Injection::Result> QueueText(uint64_t address);
  absl::Status RunUntilRestoring(Clock::time_point deadline);
  absl::StatusOr<Stop> NextStop(Clock::time_point deadline);
  absl::Status Finish();
  absl::Status Abandon();
  absl::Status RestoreAndDetach(const Registers& registers);

  const PythonProcess& process_;
  const Gadgets& gadgets_;
  Tracee tracee_;
  const OnStep& on_step_;
  // What the thread continues with.
  ThreadState state_;
  SignalFrame frame_;
  Clock::time_point stopped_at_;
  // Its instruction pointer then.
  uint64_t stopped_in_ = 0;
  // It waited for a lock, and is to run the text now.
  bool nudges_ = false;
};

bool Session::IsPlaceUsable() {
  nudges_ = WaitsForLock(process_, state_.registers);
  if (nudges_) FailSystemCall(&state_.registers);
  const uint64_t stack = StackPointer(state_.registers);
  frame_ = MakeFrame(state_, gadgets_);
  const Mapping* const mapping = FindMapping(process_.mappings, stack);
  // The main stack grows by itself; that of a signal handler may be small.
  if (mapping != nullptr && mapping->path != "[stack]" &&
      frame_.address < mapping->begin + kCallStackBytes) {
    return false;
  }
  return !IsInRestartableSequence(tracee_.thread(), stopped_in_) &&
         WriteMemory(process_.pid, frame_.address, frame_.bytes);
}

absl::Status Session::StopAtUsablePlace() {
  for (int i = 0; i < kPlaces; ++i) {
    stopped_at_ = Clock::now();
    RETURN_IF_ERROR(tracee_.Interrupt());
    const absl::StatusOr<Stop> stop = tracee_.Wait(stopped_at_ + kStopLimit);
    if (absl::IsDeadlineExceeded(stop.status())) return InKernel(process_.pid);
    RETURN_IF_ERROR(stop.status());
    on_step_("stopped");
    ASSIGN_OR_RETURN(state_, ReadState(tracee_.thread()));
    stopped_in_ = InstructionPointer(state_.registers);
    if (IsPlaceUsable()) return absl::OkStatus();
    RETURN_IF_ERROR(tracee_.RunFreely());
    std::this_thread::sleep_for(kBetweenPlaces);
  }
  return Failure("no_stack",
                 absl::StrCat("the main thread of process ", process_.pid,
                              " has no room on its stack; try again"));
}

absl::StatusOr<Stop> Session::NextStop(Clock::time_point deadline) {
  if (tracee_.is_stopped()) RETURN_IF_ERROR(tracee_.RunToSystemCall());
  return tracee_.Wait(deadline);
}

absl::StatusOr<uint64_t> Session::MapMemory(size_t size) {
  const auto deadline = Clock::now() + kCallLimit;
  RETURN_IF_ERROR(WriteRegisters(
      tracee_.thread(),
      CallKernel(state_, frame_, gadgets_, SYS_mmap,
                 {0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                  static_cast<uint64_t>(-1), 0})));
  on_step_("mmap_prepared");
  RETURN_IF_ERROR(tracee_.BlockSignals());
  on_step_("signals_blocked");
  for (const absl::string_view step : {"mmap_entered", "mmap_done"}) {
    ASSIGN_OR_RETURN(const Stop stop, NextStop(deadline));
    if (stop != Stop::kSystemCall) {
      return absl::InternalError("unexpected stop in mmap");
    }
    on_step_(step);
  }
  ASSIGN_OR_RETURN(const Registers registers, ReadRegisters(tracee_.thread()));
  const int64_t result = SystemCallResult(registers);
  if (result > -4096 && result < 0) {
    return Failure(
        "no_memory",
        absl::StrCat("process ", process_.pid, " cannot allocate memory: ",
                     std::strerror(static_cast<int>(-result))));
  }
  return static_cast<uint64_t>(result);
}

absl::Status Session::WriteText(std::string text, uint64_t address) {
  const size_t mark = text.find(std::string(kAddressMark));
  if (mark != std::string::npos) {
    text.replace(mark, kAddressMark.size(), absl::StrFormat("%#018x", address));
  }
  // With the zero at the end.
  if (!WriteMemory(process_.pid, address, {text.c_str(), text.size() + 1})) {
    return absl::InternalError("cannot write the text");
  }
  return absl::OkStatus();
}

absl::Status Session::RunUntilRestoring(Clock::time_point deadline) {
  for (;;) {
    ASSIGN_OR_RETURN(const Stop stop, NextStop(deadline));
    if (stop == Stop::kFault) {
      return Failure("call_failed",
                     absl::StrCat("the interpreter of process ", process_.pid,
                                  " is starting or ending; try again"));
    }
    ASSIGN_OR_RETURN(const Registers registers,
                     ReadRegisters(tracee_.thread()));
    if (IsRestoring(registers, frame_)) return absl::OkStatus();
  }
}

absl::StatusOr<Injection::Result> Session::QueueText(uint64_t address) {
  RETURN_IF_ERROR(WriteRegisters(
      tracee_.thread(),
      CallFunction(state_, frame_, gadgets_, process_.add_pending_call,
                   process_.run_string, address)));
  on_step_("call_prepared");
  RETURN_IF_ERROR(RunUntilRestoring(Clock::now() + kCallLimit));
  on_step_("called");
  ASSIGN_OR_RETURN(const Registers registers, ReadRegisters(tracee_.thread()));
  return FunctionResult(registers, gadgets_).value_or(0) == 0
             ? Injection::Result::kQueued
             : Injection::Result::kQueueFull;
}

// For a thread that is about to restore itself.
absl::Status Session::Finish() {
  const std::optional<Registers> wait = ContinueWait(state_);
  if (wait.has_value()) return RestoreAndDetach(*wait);
  return tracee_.Detach();
}

absl::Status Session::RestoreAndDetach(const Registers& registers) {
  // The registers come last: until then the thread would restore itself.
  RETURN_IF_ERROR(tracee_.SetSignalMask(state_.signal_mask));
  RETURN_IF_ERROR(WriteVectors(tracee_.thread(), state_.vectors));
  RETURN_IF_ERROR(WriteRegisters(tracee_.thread(), registers));
  on_step_("restored");
  return tracee_.Detach();
}

// For a thread anywhere in what it was made to call.
absl::Status Session::Abandon() {
  RETURN_IF_ERROR(tracee_.Interrupt());
  const auto deadline = Clock::now() + kStopLimit;
  for (;;) {
    ASSIGN_OR_RETURN(const Stop stop, NextStop(deadline));
    if (stop == Stop::kInterrupted) return RestoreAndDetach(state_.registers);
    ASSIGN_OR_RETURN(const Registers registers,
                     ReadRegisters(tracee_.thread()));
    if (stop == Stop::kSystemCall && IsRestoring(registers, frame_)) {
      return Finish();
    }
  }
}

absl::StatusOr<Injection> Session::Run(std::string text) {
  on_step_("seized");
  RETURN_IF_ERROR(StopAtUsablePlace());
  on_step_("frame_written");
  absl::StatusOr<uint64_t> address = MapMemory(text.size() + 1);
  if (address.ok()) {
    const absl::Status written = WriteText(std::move(text), *address);
    if (!written.ok()) address = written;
  }
  on_step_("text_written");
  absl::StatusOr<Injection::Result> queued =
      address.ok() ? QueueText(*address) : address.status();
  RETURN_IF_ERROR(queued.ok() ? Finish() : Abandon());
  const auto stopped = Clock::now() - stopped_at_;
  on_step_("detached");
  if (absl::IsDeadlineExceeded(queued.status())) {
    return Failure("queue_locked",
                   absl::StrCat("the queue of the interpreter of process ",
                                process_.pid, " is locked; try again"));
  }
  RETURN_IF_ERROR(queued.status());
  return Injection{
      *queued, std::chrono::duration_cast<microseconds>(stopped),
      DescribeAddress(process_.pid, process_.mappings, stopped_in_), nudges_};
}

}  // namespace

absl::StatusOr<Injection> Inject(pid_t pid, const std::string& text,
                                 const OnStep& on_step) {
  ASSIGN_OR_RETURN(const PythonProcess process, FindPython(pid));
  RETURN_IF_ERROR(CheckState(pid));
  ASSIGN_OR_RETURN(Tracee tracee, Tracee::Seize(pid));
  ASSIGN_OR_RETURN(const Gadgets gadgets, FindGadgets(process));
  return Session(process, gadgets, std::move(tracee), on_step).Run(text);
}

}  // namespace graphdbg::inject
