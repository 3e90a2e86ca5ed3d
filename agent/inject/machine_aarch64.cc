#if defined(__aarch64__)

#include <asm/ptrace.h>
#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/inject/machine.h"
#include "agent/inject/process.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::inject {

namespace {

constexpr uint32_t kSystemCall = 0xd4000001;  // svc #0
constexpr absl::string_view kSystemCallReturn("\x01\0\0\xd4\xc0\x03\x5f\xd6",
                                              8);
// mov x8, #139; svc #0
constexpr absl::string_view kRestore("\x68\x11\x80\xd2\x01\0\0\xd4", 8);

// The kernel's struct rt_sigframe.
struct Frame {
  siginfo_t information;
  ucontext_t context;
};

absl::Status Errno(absl::string_view what) {
  return absl::InternalError(absl::StrCat(what, ": ", std::strerror(errno)));
}

absl::Status ReadSet(pid_t thread, int kind, std::string* bytes) {
  iovec vector{bytes->data(), bytes->size()};
  if (ptrace(PTRACE_GETREGSET, thread, kind, &vector) != 0) {
    return Errno("cannot read registers");
  }
  bytes->resize(vector.iov_len);
  return absl::OkStatus();
}

absl::Status WriteSet(pid_t thread, int kind, const void* bytes, size_t size) {
  iovec vector{const_cast<void*>(bytes), size};
  if (ptrace(PTRACE_SETREGSET, thread, kind, &vector) != 0) {
    return Errno("cannot write registers");
  }
  return absl::OkStatus();
}

// ThreadState::vectors is a user_fpsimd_state, followed by what ptrace has for
// the scalable vectors if they are in use.
bool HasScalable(const std::string& vectors) {
  if (vectors.size() <= sizeof(user_fpsimd_state)) return false;
  user_sve_header header;
  std::memcpy(&header, vectors.data() + sizeof(user_fpsimd_state),
              sizeof(header));
  return (header.flags & SVE_PT_REGS_MASK) == SVE_PT_REGS_SVE;
}

// Writes the records of a frame that hold vector registers.
void FillVectors(const std::string& vectors, char* reserved) {
  user_fpsimd_state state;
  std::memcpy(&state, vectors.data(), sizeof(state));
  fpsimd_context simd{};
  simd.head.magic = FPSIMD_MAGIC;
  simd.head.size = sizeof(simd);
  simd.fpsr = state.fpsr;
  simd.fpcr = state.fpcr;
  std::memcpy(simd.vregs, state.vregs, sizeof(simd.vregs));
  std::memcpy(reserved, &simd, sizeof(simd));
  if (!HasScalable(vectors)) return;
  const char* const scalable = vectors.data() + sizeof(state);
  user_sve_header header;
  std::memcpy(&header, scalable, sizeof(header));
  const unsigned quads = sve_vq_from_vl(header.vl);
  sve_context sve{};
  sve.head.magic = SVE_MAGIC;
  sve.head.size = SVE_SIG_CONTEXT_SIZE(quads);
  sve.vl = header.vl;
  char* const record = reserved + sizeof(simd);
  std::memcpy(record, &sve, sizeof(sve));
  std::memcpy(record + SVE_SIG_REGS_OFFSET, scalable + SVE_PT_SVE_OFFSET,
              SVE_SIG_REGS_SIZE(quads));
}

bool FitsFrame(const std::string& vectors) {
  if (!HasScalable(vectors)) return true;
  user_sve_header header;
  std::memcpy(&header, vectors.data() + sizeof(user_fpsimd_state),
              sizeof(header));
  constexpr size_t kEnd = sizeof(_aarch64_ctx);
  return sizeof(fpsimd_context) +
             SVE_SIG_CONTEXT_SIZE(sve_vq_from_vl(header.vl)) + kEnd <=
         sizeof(mcontext_t::__reserved);
}

}  // namespace

bool AddGadgets(absl::string_view code, uint64_t address, Gadgets* gadgets) {
  auto find = [&](absl::string_view pattern, uint64_t* found) {
    size_t at = *found == 0 ? code.find(pattern) : code.npos;
    // Instructions are aligned.
    while (at != code.npos && at % 4 != 0) at = code.find(pattern, at + 1);
    if (at != code.npos) *found = address + at;
  };
  find(kSystemCallReturn, &gadgets->system_call);
  find(kRestore, &gadgets->restore);
  return gadgets->system_call != 0 && gadgets->restore != 0;
}

absl::StatusOr<Registers> ReadRegisters(pid_t thread) {
  std::string bytes(sizeof(Registers), '\0');
  RETURN_IF_ERROR(ReadSet(thread, NT_PRSTATUS, &bytes));
  Registers registers;
  std::memcpy(&registers, bytes.data(), sizeof(registers));
  return registers;
}

absl::Status WriteRegisters(pid_t thread, const Registers& registers) {
  return WriteSet(thread, NT_PRSTATUS, &registers, sizeof(registers));
}

absl::StatusOr<ThreadState> ReadState(pid_t thread) {
  ThreadState state;
  ASSIGN_OR_RETURN(state.registers, ReadRegisters(thread));
  state.vectors.resize(sizeof(user_fpsimd_state));
  RETURN_IF_ERROR(ReadSet(thread, NT_PRFPREG, &state.vectors));
  std::string scalable(16 << 10, '\0');
  // Fails where the processor has no scalable vectors.
  if (ReadSet(thread, NT_ARM_SVE, &scalable).ok()) state.vectors += scalable;
  if (!FitsFrame(state.vectors)) {
    return absl::UnimplementedError("vectors of this length");
  }
  if (ptrace(PTRACE_GETSIGMASK, thread, sizeof(state.signal_mask),
             &state.signal_mask) != 0) {
    return Errno("cannot read the signal mask");
  }
  return state;
}

absl::Status WriteVectors(pid_t thread, const std::string& vectors) {
  if (HasScalable(vectors)) {
    constexpr size_t kBegin = sizeof(user_fpsimd_state);
    return WriteSet(thread, NT_ARM_SVE, vectors.data() + kBegin,
                    vectors.size() - kBegin);
  }
  return WriteSet(thread, NT_PRFPREG, vectors.data(),
                  sizeof(user_fpsimd_state));
}

uint64_t StackPointer(const Registers& registers) { return registers.sp; }

uint64_t InstructionPointer(const Registers& registers) { return registers.pc; }

// The kernel has set the registers back to make the system call again before a
// debugger sees them, so an interrupted one looks like one that is about to be
// made. Either way it is made from its start.
std::optional<int64_t> InterruptedSystemCall(pid_t thread,
                                             const Registers& registers) {
  uint32_t instruction = 0;
  if (!ReadMemory(thread, registers.pc, sizeof(instruction), &instruction) ||
      instruction != kSystemCall) {
    return std::nullopt;
  }
  return static_cast<int64_t>(registers.regs[8]);
}

void FailSystemCall(Registers* registers) {
  registers->regs[0] = static_cast<uint64_t>(-EINTR);
  registers->pc += sizeof(kSystemCall);
}

SignalFrame MakeFrame(const ThreadState& state, const Gadgets& gadgets) {
  (void)gadgets;
  Frame frame{};
  ucontext_t& context = frame.context;
  // An invalid flag leaves the alternate stack as it is.
  context.uc_stack.ss_flags = 4;
  std::memcpy(&context.uc_sigmask, &state.signal_mask,
              sizeof(state.signal_mask));
  std::memcpy(context.uc_mcontext.regs, state.registers.regs,
              sizeof(context.uc_mcontext.regs));
  context.uc_mcontext.sp = state.registers.sp;
  context.uc_mcontext.pc = state.registers.pc;
  context.uc_mcontext.pstate = state.registers.pstate;
  FillVectors(state.vectors,
              reinterpret_cast<char*>(context.uc_mcontext.__reserved));
  SignalFrame made;
  made.address = (state.registers.sp - sizeof(frame)) / 16 * 16;
  made.restored_at = made.address;
  made.bytes.assign(reinterpret_cast<const char*>(&frame), sizeof(frame));
  return made;
}

Registers CallFunction(const ThreadState& state, const SignalFrame& frame,
                       const Gadgets& gadgets, uint64_t function,
                       uint64_t first, uint64_t second) {
  Registers registers = state.registers;
  registers.pc = function;
  registers.sp = frame.restored_at;
  registers.regs[30] = gadgets.restore;
  registers.regs[0] = first;
  registers.regs[1] = second;
  return registers;
}

Registers CallKernel(const ThreadState& state, const SignalFrame& frame,
                     const Gadgets& gadgets, int64_t number,
                     const std::array<uint64_t, 6>& arguments) {
  Registers registers = state.registers;
  registers.pc = gadgets.system_call;
  registers.sp = frame.restored_at;
  registers.regs[30] = gadgets.restore;
  registers.regs[8] = static_cast<uint64_t>(number);
  std::memcpy(registers.regs, arguments.data(), sizeof(arguments));
  return registers;
}

int64_t SystemCallNumber(const Registers& registers) {
  return static_cast<int64_t>(registers.regs[8]);
}

int64_t SystemCallResult(const Registers& registers) {
  return static_cast<int64_t>(registers.regs[0]);
}

bool IsRestoring(const Registers& registers, const SignalFrame& frame) {
  return SystemCallNumber(registers) == SYS_rt_sigreturn &&
         registers.sp == frame.restored_at;
}

// The result is still where the function has left it.
std::optional<int32_t> FunctionResult(const Registers& registers,
                                      const Gadgets& gadgets) {
  (void)gadgets;
  return static_cast<int32_t>(registers.regs[0]);
}

// A relative wait that was interrupted begins anew. CPython waits for points in
// time.
std::optional<Registers> ContinueWait(const ThreadState& state) {
  (void)state;
  return std::nullopt;
}

}  // namespace graphdbg::inject

#endif  // defined(__aarch64__)
