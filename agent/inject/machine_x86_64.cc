#if defined(__x86_64__)

#include <cpuid.h>
#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/inject/machine.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::inject {

namespace {

// Of the kernel, which shows them to debuggers only.
constexpr int64_t kRestartSys = -512;
constexpr int64_t kRestartNoInterrupt = -513;
constexpr int64_t kRestartNoHandler = -514;
constexpr int64_t kRestartBlock = -516;

// Bytes below the stack pointer that functions may use without moving it.
constexpr uint64_t kRedZone = 128;
constexpr uint64_t kDirectionFlag = 1 << 10;
constexpr size_t kSystemCallBytes = 2;

constexpr absl::string_view kSystemCallReturn("\x0f\x05\xc3", 3);
// mov $15, %rax and mov $15, %eax, each before syscall.
constexpr absl::string_view kRestore("\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
constexpr absl::string_view kShortRestore("\xb8\x0f\0\0\0\x0f\x05", 7);
// xchg %eax, %edx; ret: so short that any library has it, in the middle of
// other instructions.
constexpr absl::string_view kKeepResult("\x92\xc3", 2);

// The kernel's struct ucontext: glibc's has a longer signal mask at its end.
constexpr size_t kContextBytes =
    offsetof(ucontext_t, uc_sigmask) + sizeof(uint64_t);
constexpr uint64_t kContextFlags = 1 | 2 | 4;  // XSAVE, SS, strictly this SS.

// The area of XSAVE, in the form without gaps removed.
constexpr size_t kLegacyBytes = 512;
constexpr size_t kXsaveHeaderBytes = 64;
constexpr size_t kSoftwareBytesAt = 464;
constexpr uint32_t kMagic1 = 0x46505853;
constexpr uint32_t kMagic2 = 0x46505845;
// Their registers are large, and a process must ask for them.
constexpr uint64_t kTileFeatures = uint64_t{3} << 17;

// What the kernel keeps in the software bytes of a frame.
struct SoftwareBytes {
  uint32_t magic1;
  uint32_t extended_size;
  uint64_t features;
  uint32_t state_size;
  uint32_t padding[7];
};
static_assert(sizeof(SoftwareBytes) == 48, "layout of the kernel");

absl::Status Errno(absl::string_view what) {
  return absl::InternalError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// The size of an XSAVE area that has these features.
size_t XsaveSize(uint64_t features) {
  size_t size = kLegacyBytes + kXsaveHeaderBytes;
  for (unsigned feature = 2; feature < 64; ++feature) {
    if ((features >> feature & 1) == 0) continue;
    unsigned bytes, offset, flags, unused;
    __cpuid_count(0xd, feature, bytes, offset, flags, unused);
    size = std::max(size, static_cast<size_t>(offset) + bytes);
  }
  return size;
}

// The registers in the form in which a signal frame has them.
std::string FrameVectors(const std::string& vectors) {
  if (vectors.size() < kLegacyBytes + kXsaveHeaderBytes) return vectors;
  uint64_t used;
  std::memcpy(&used, vectors.data() + kLegacyBytes, sizeof(used));
  // The kernel shows debuggers the features that it supports here.
  uint64_t features;
  std::memcpy(&features, vectors.data() + kSoftwareBytesAt, sizeof(features));
  features &= ~kTileFeatures | used;
  const size_t size = std::min(XsaveSize(features), vectors.size());
  SoftwareBytes software{};
  software.magic1 = kMagic1;
  software.extended_size = static_cast<uint32_t>(size + sizeof(kMagic2));
  software.features = features;
  software.state_size = static_cast<uint32_t>(size);
  std::string area = vectors.substr(0, size);
  std::memcpy(&area[kSoftwareBytesAt], &software, sizeof(software));
  area.append(reinterpret_cast<const char*>(&kMagic2), sizeof(kMagic2));
  return area;
}

bool IsInterrupted(const Registers& registers) {
  const int64_t result = static_cast<int64_t>(registers.rax);
  return static_cast<int64_t>(registers.orig_rax) >= 0 &&
         (result == kRestartSys || result == kRestartNoInterrupt ||
          result == kRestartNoHandler || result == kRestartBlock);
}

// The registers with which a thread continues after a signal handler: a system
// call that was interrupted is made again, or fails.
Registers AfterHandler(Registers registers) {
  if (!IsInterrupted(registers)) return registers;
  if (static_cast<int64_t>(registers.rax) == kRestartBlock) {
    FailSystemCall(&registers);
  } else {
    registers.rax = registers.orig_rax;
    registers.rip -= kSystemCallBytes;
  }
  return registers;
}

void FillContext(const ThreadState& state, uint64_t vectors,
                 ucontext_t* context) {
  const Registers r = AfterHandler(state.registers);
  auto set = [context](int index, uint64_t value) {
    context->uc_mcontext.gregs[index] = static_cast<greg_t>(value);
  };
  context->uc_flags = kContextFlags;
  // An invalid flag leaves the alternate stack as it is.
  context->uc_stack.ss_flags = 4;
  set(REG_R8, r.r8);
  set(REG_R9, r.r9);
  set(REG_R10, r.r10);
  set(REG_R11, r.r11);
  set(REG_R12, r.r12);
  set(REG_R13, r.r13);
  set(REG_R14, r.r14);
  set(REG_R15, r.r15);
  set(REG_RDI, r.rdi);
  set(REG_RSI, r.rsi);
  set(REG_RBP, r.rbp);
  set(REG_RBX, r.rbx);
  set(REG_RDX, r.rdx);
  set(REG_RAX, r.rax);
  set(REG_RCX, r.rcx);
  set(REG_RSP, r.rsp);
  set(REG_RIP, r.rip);
  set(REG_EFL, r.eflags);
  set(REG_CSGSFS, r.cs | r.ss << 48);
  context->uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(vectors);
  std::memcpy(&context->uc_sigmask, &state.signal_mask,
              sizeof(state.signal_mask));
}

// The stack pointer at the start of a function, whose return address is there.
uint64_t FunctionEntry(const SignalFrame& frame, const Gadgets& gadgets) {
  return frame.restored_at - (gadgets.keep_result != 0 ? 16 : 8);
}

void StartCall(uint64_t instruction, uint64_t stack, Registers* registers) {
  registers->rip = instruction;
  registers->rsp = stack;
  registers->eflags &= ~kDirectionFlag;
  // Otherwise the kernel would restart the interrupted system call, with these
  // registers.
  registers->orig_rax = static_cast<uint64_t>(-1);
}

}  // namespace

bool AddGadgets(absl::string_view code, uint64_t address, Gadgets* gadgets) {
  auto find = [&](absl::string_view pattern, uint64_t* found) {
    const size_t at = *found == 0 ? code.find(pattern) : code.npos;
    if (at != code.npos) *found = address + at;
  };
  find(kSystemCallReturn, &gadgets->system_call);
  find(kRestore, &gadgets->restore);
  find(kShortRestore, &gadgets->restore);
  find(kKeepResult, &gadgets->keep_result);
  return gadgets->system_call != 0 && gadgets->restore != 0 &&
         gadgets->keep_result != 0;
}

absl::StatusOr<Registers> ReadRegisters(pid_t thread) {
  Registers registers;
  if (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) {
    return Errno("cannot read registers");
  }
  return registers;
}

absl::Status WriteRegisters(pid_t thread, const Registers& registers) {
  if (ptrace(PTRACE_SETREGS, thread, nullptr, &registers) != 0) {
    return Errno("cannot write registers");
  }
  return absl::OkStatus();
}

absl::StatusOr<ThreadState> ReadState(pid_t thread) {
  ThreadState state;
  ASSIGN_OR_RETURN(state.registers, ReadRegisters(thread));
  state.vectors.resize(64 << 10);
  iovec vector{state.vectors.data(), state.vectors.size()};
  // Processors before AVX have the legacy registers only.
  if (ptrace(PTRACE_GETREGSET, thread, NT_X86_XSTATE, &vector) != 0 &&
      ptrace(PTRACE_GETREGSET, thread, NT_PRFPREG, &vector) != 0) {
    return Errno("cannot read vector registers");
  }
  state.vectors.resize(vector.iov_len);
  if (ptrace(PTRACE_GETSIGMASK, thread, sizeof(state.signal_mask),
             &state.signal_mask) != 0) {
    return Errno("cannot read the signal mask");
  }
  return state;
}

absl::Status WriteVectors(pid_t thread, const std::string& vectors) {
  const int kind = vectors.size() > kLegacyBytes ? NT_X86_XSTATE : NT_PRFPREG;
  iovec vector{const_cast<char*>(vectors.data()), vectors.size()};
  if (ptrace(PTRACE_SETREGSET, thread, kind, &vector) != 0) {
    return Errno("cannot write vector registers");
  }
  return absl::OkStatus();
}

uint64_t StackPointer(const Registers& registers) { return registers.rsp; }

uint64_t InstructionPointer(const Registers& registers) {
  return registers.rip;
}

std::optional<int64_t> InterruptedSystemCall(pid_t thread,
                                             const Registers& registers) {
  (void)thread;
  if (!IsInterrupted(registers)) return std::nullopt;
  return static_cast<int64_t>(registers.orig_rax);
}

void FailSystemCall(Registers* registers) {
  registers->rax = static_cast<uint64_t>(-EINTR);
  registers->orig_rax = static_cast<uint64_t>(-1);
}

SignalFrame MakeFrame(const ThreadState& state, const Gadgets& gadgets) {
  const std::string vectors = FrameVectors(state.vectors);
  const uint64_t top = state.registers.rsp - kRedZone;
  const uint64_t vectors_at = (top - vectors.size()) / 64 * 64;
  // From the lowest address: the return addresses, the context, the vectors.
  // The first return address has the place that one has in a function.
  std::string returns;
  auto add = [&returns](uint64_t address) {
    returns.append(reinterpret_cast<const char*>(&address), sizeof(address));
  };
  if (gadgets.keep_result != 0) add(gadgets.keep_result);
  add(gadgets.restore);
  SignalFrame frame;
  frame.address = (vectors_at - kContextBytes - returns.size()) / 16 * 16 - 8;
  frame.restored_at = frame.address + returns.size();
  ucontext_t context{};
  FillContext(state, vectors_at, &context);
  frame.bytes = returns;
  frame.bytes.append(reinterpret_cast<const char*>(&context), kContextBytes);
  frame.bytes.resize(vectors_at - frame.address);
  frame.bytes += vectors;
  return frame;
}

Registers CallFunction(const ThreadState& state, const SignalFrame& frame,
                       const Gadgets& gadgets, uint64_t function,
                       uint64_t first, uint64_t second) {
  Registers registers = state.registers;
  StartCall(function, FunctionEntry(frame, gadgets), &registers);
  registers.rdi = first;
  registers.rsi = second;
  registers.rax = 0;
  return registers;
}

Registers CallKernel(const ThreadState& state, const SignalFrame& frame,
                     const Gadgets& gadgets, int64_t number,
                     const std::array<uint64_t, 6>& arguments) {
  Registers registers = state.registers;
  StartCall(gadgets.system_call, frame.restored_at - 8, &registers);
  registers.rax = static_cast<uint64_t>(number);
  registers.rdi = arguments[0];
  registers.rsi = arguments[1];
  registers.rdx = arguments[2];
  registers.r10 = arguments[3];
  registers.r8 = arguments[4];
  registers.r9 = arguments[5];
  return registers;
}

int64_t SystemCallNumber(const Registers& registers) {
  return static_cast<int64_t>(registers.orig_rax);
}

int64_t SystemCallResult(const Registers& registers) {
  return static_cast<int64_t>(registers.rax);
}

bool IsRestoring(const Registers& registers, const SignalFrame& frame) {
  return SystemCallNumber(registers) == SYS_rt_sigreturn &&
         registers.rsp == frame.restored_at;
}

std::optional<int32_t> FunctionResult(const Registers& registers,
                                      const Gadgets& gadgets) {
  if (gadgets.keep_result == 0) return std::nullopt;
  return static_cast<int32_t>(registers.rdx);
}

std::optional<Registers> ContinueWait(const ThreadState& state) {
  if (!IsInterrupted(state.registers) ||
      static_cast<int64_t>(state.registers.rax) != kRestartBlock) {
    return std::nullopt;
  }
  Registers registers = state.registers;
  registers.orig_rax = SYS_restart_syscall;
  registers.rax = static_cast<uint64_t>(-ENOSYS);
  return registers;
}

}  // namespace graphdbg::inject

#endif  // defined(__x86_64__)
