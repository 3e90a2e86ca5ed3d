#include "agent/inject/restartable_sequence.h"

#include <sys/ptrace.h>

#include "agent/inject/process.h"

namespace graphdbg::inject {

namespace {

// Of linux/ptrace.h and linux/rseq.h, which older systems do not have.
constexpr int kGetConfiguration = 0x420f;

struct Configuration {
  uint64_t area;
  uint32_t area_size;
  uint32_t signature;
  uint32_t flags;
  uint32_t padding;
};

struct Sequence {
  uint32_t version;
  uint32_t flags;
  uint64_t begin;
  uint64_t size;
  uint64_t abort;
};

// Of the address of the current sequence in a thread's area.
constexpr uint64_t kSequenceAt = 8;

}  // namespace

bool IsInRestartableSequence(pid_t thread, uint64_t instruction_pointer) {
  Configuration configuration{};
  uint64_t address = 0;
  Sequence sequence;
  // Kernels before 5.13 do not tell, and the thread may have no area.
  return ptrace(static_cast<__ptrace_request>(kGetConfiguration), thread,
                sizeof(configuration), &configuration) >= 0 &&
         configuration.area != 0 &&
         ReadMemory(thread, configuration.area + kSequenceAt, sizeof(address),
                    &address) &&
         address != 0 &&
         ReadMemory(thread, address, sizeof(sequence), &sequence) &&
         instruction_pointer - sequence.begin < sequence.size;
}

}  // namespace graphdbg::inject
