// Stops a thread of a child, has it make system calls, and lets it restore
// itself from the frame alone, as it does if the injector is killed.
#include "agent/inject/machine.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "agent/inject/process.h"
#include "agent/inject/python_process.h"
#include "agent/inject/tracee.h"

namespace graphdbg::inject {
namespace {

using std::chrono::seconds;

double Sum(int terms) {
  double sum = 0;
  for (int i = 1; i <= terms; ++i) sum += std::sin(i) / i;
  return sum;
}

// Computes the same number over and over, with its intermediate results in
// registers; ends with 1 when it differs, and with 0 when it is told to.
[[noreturn]] void Compute(const volatile int* end) {
  const double expected = Sum(1000);
  while (*end == 0) {
    if (Sum(1000) != expected) _exit(1);
  }
  _exit(0);
}

class MachineTest : public testing::Test {
 protected:
  void SetUp() override {
    end_ = static_cast<int*>(mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(end_, MAP_FAILED);
    child_ = fork();
    if (child_ == 0) Compute(end_);
    process_.pid = child_;
    auto mappings = ReadMappings(child_);
    ASSERT_TRUE(mappings.ok());
    process_.mappings = *mappings;
    auto gadgets = FindGadgets(process_);
    ASSERT_TRUE(gadgets.ok()) << gadgets.status();
    gadgets_ = *gadgets;
  }

  void TearDown() override {
    *end_ = 1;
    int status = 0;
    EXPECT_EQ(waitpid(child_, &status, 0), child_);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    munmap(end_, sizeof(int));
  }

  int* end_ = nullptr;
  pid_t child_ = 0;
  PythonProcess process_;
  Gadgets gadgets_;
};

// Sets what is needed to make the child call the kernel.
void Redirect(const Tracee& tracee, const Gadgets& gadgets, int64_t number,
              SignalFrame* frame) {
  auto state = ReadState(tracee.thread());
  ASSERT_TRUE(state.ok()) << state.status();
  *frame = MakeFrame(*state, gadgets);
  ASSERT_TRUE(WriteMemory(tracee.thread(), frame->address, frame->bytes));
  ASSERT_TRUE(WriteRegisters(tracee.thread(),
                             CallKernel(*state, *frame, gadgets, number, {}))
                  .ok());
}

TEST_F(MachineTest, ThreadsRestoreThemselves) {
  for (int i = 0; i < 200; ++i) {
    auto tracee = Tracee::Seize(child_);
    ASSERT_TRUE(tracee.ok()) << tracee.status();
    ASSERT_TRUE(tracee->Interrupt().ok());
    ASSERT_TRUE(tracee->Wait(Clock::now() + seconds(10)).ok());
    SignalFrame frame;
    Redirect(*tracee, gadgets_, SYS_getppid, &frame);
    ASSERT_TRUE(tracee->Detach().ok());
    usleep(static_cast<useconds_t>(i * 10));
  }
}

TEST_F(MachineTest, CallsTheKernel) {
  auto tracee = Tracee::Seize(child_);
  ASSERT_TRUE(tracee.ok()) << tracee.status();
  ASSERT_TRUE(tracee->Interrupt().ok());
  auto stop = tracee->Wait(Clock::now() + seconds(10));
  ASSERT_TRUE(stop.ok());
  EXPECT_EQ(*stop, Stop::kInterrupted);
  SignalFrame frame;
  Redirect(*tracee, gadgets_, SYS_getppid, &frame);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(tracee->RunToSystemCall().ok());
    stop = tracee->Wait(Clock::now() + seconds(10));
    ASSERT_TRUE(stop.ok());
    EXPECT_EQ(*stop, Stop::kSystemCall);
  }
  auto registers = ReadRegisters(child_);
  ASSERT_TRUE(registers.ok());
  EXPECT_EQ(SystemCallNumber(*registers), SYS_getppid);
  EXPECT_EQ(SystemCallResult(*registers), getpid());
  EXPECT_FALSE(IsRestoring(*registers, frame));
  ASSERT_TRUE(tracee->RunToSystemCall().ok());
  ASSERT_TRUE(tracee->Wait(Clock::now() + seconds(10)).ok());
  registers = ReadRegisters(child_);
  ASSERT_TRUE(registers.ok());
  EXPECT_TRUE(IsRestoring(*registers, frame));
}

// The line of /proc/PID/status with the blocked signals.
std::string BlockedSignals(pid_t pid) {
  const std::string status = ReadProcFile(pid, "status");
  const size_t begin = status.find("SigBlk:");
  return status.substr(begin, status.find('\n', begin) - begin);
}

TEST_F(MachineTest, SignalsWaitUntilTheThreadIsRestored) {
  const std::string before = BlockedSignals(child_);
  auto tracee = Tracee::Seize(child_);
  ASSERT_TRUE(tracee.ok()) << tracee.status();
  ASSERT_TRUE(tracee->Interrupt().ok());
  ASSERT_TRUE(tracee->Wait(Clock::now() + seconds(10)).ok());
  SignalFrame frame;
  Redirect(*tracee, gadgets_, SYS_getppid, &frame);
  ASSERT_TRUE(tracee->BlockSignals().ok());
  EXPECT_NE(BlockedSignals(child_), before);
  ASSERT_TRUE(tracee->Detach().ok());
  for (int i = 0; i < 10000 && BlockedSignals(child_) != before; ++i) {
    usleep(1000);
  }
  EXPECT_EQ(BlockedSignals(child_), before);
}

TEST_F(MachineTest, SecondTracersAreRefused) {
  auto first = Tracee::Seize(child_);
  ASSERT_TRUE(first.ok()) << first.status();
  auto second = Tracee::Seize(child_);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find("is tracing process"),
            absl::string_view::npos)
      << second.status();
  ASSERT_TRUE(first->Interrupt().ok());
  ASSERT_TRUE(first->Wait(Clock::now() + seconds(10)).ok());
}

}  // namespace
}  // namespace graphdbg::inject
