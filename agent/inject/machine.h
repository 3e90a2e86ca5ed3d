// What depends on the processor: registers, calls, and the signal frame by
// which a thread restores itself.
//
// Whatever a thread is made to execute returns into a signal frame with the
// registers that it had, which was put on its stack beforehand. The kernel
// restores them from there (rt_sigreturn), as it does after a signal handler.
// So the thread continues correctly even if the injector is killed meanwhile,
// after which the kernel lets the thread run.
#ifndef AGENT_INJECT_MACHINE_H_
#define AGENT_INJECT_MACHINE_H_

#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/inject/mappings.h"

namespace graphdbg::inject {

using Registers = user_regs_struct;

// All that a thread needs to continue as if it had not been stopped.
struct ThreadState {
  Registers registers;
  // Floating-point and vector registers, as ptrace has them.
  std::string vectors;
  // Blocked signals.
  uint64_t signal_mask = 0;
};

// Addresses of instructions that the process has anyway; no code is written.
struct Gadgets {
  // A system call, and a return.
  uint64_t system_call = 0;
  // The C library's end of signal handlers: calls rt_sigreturn.
  uint64_t restore = 0;
  // Copies the result of a function to a register that `restore` leaves alone,
  // and returns; 0 if there is none, so that results are unknown. Unused where
  // `restore` keeps the result.
  uint64_t keep_result = 0;
};

// Adds what is found in code that is loaded at `address`; true if nothing is
// missing any more.
bool AddGadgets(absl::string_view code, uint64_t address, Gadgets* gadgets);

// A signal frame for the thread's stack.
struct SignalFrame {
  // Where `bytes` belong; also the lowest address that is written.
  uint64_t address = 0;
  std::string bytes;
  // The stack pointer when the kernel restores from the frame.
  uint64_t restored_at = 0;
};

// Reads and writes the registers of a stopped thread.
absl::StatusOr<ThreadState> ReadState(pid_t thread);
absl::StatusOr<Registers> ReadRegisters(pid_t thread);
absl::Status WriteRegisters(pid_t thread, const Registers& registers);
absl::Status WriteVectors(pid_t thread, const std::string& vectors);

uint64_t StackPointer(const Registers& registers);
uint64_t InstructionPointer(const Registers& registers);

// The number of the system call in which a thread was interrupted and which the
// kernel is about to restart, or nothing.
std::optional<int64_t> InterruptedSystemCall(pid_t thread,
                                             const Registers& registers);

// Lets the interrupted system call return EINTR instead of being restarted.
void FailSystemCall(Registers* registers);

SignalFrame MakeFrame(const ThreadState& state, const Gadgets& gadgets);

// The state in which a thread calls a function or the kernel, and then restores
// itself from the frame.
Registers CallFunction(const ThreadState& state, const SignalFrame& frame,
                       const Gadgets& gadgets, uint64_t function,
                       uint64_t first, uint64_t second);
Registers CallKernel(const ThreadState& state, const SignalFrame& frame,
                     const Gadgets& gadgets, int64_t number,
                     const std::array<uint64_t, 6>& arguments);

// A system call that a thread is about to make, or has just made.
int64_t SystemCallNumber(const Registers& registers);
int64_t SystemCallResult(const Registers& registers);

// Whether a thread that is about to make a system call has returned from what
// it was made to call, and is about to restore itself from the frame.
bool IsRestoring(const Registers& registers, const SignalFrame& frame);

// The result of the function in that case; nothing if it is unknown.
std::optional<int32_t> FunctionResult(const Registers& registers,
                                      const Gadgets& gadgets);

// A signal frame makes the kernel forget how long an interrupted system call,
// such as nanosleep, still has to wait. For a thread that is about to restore
// itself after such a call: the registers by which it continues the wait
// instead. Nothing if the frame restores all.
std::optional<Registers> ContinueWait(const ThreadState& state);

}  // namespace graphdbg::inject

#endif  // AGENT_INJECT_MACHINE_H_
