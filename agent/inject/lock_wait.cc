#include "agent/inject/lock_wait.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/match.h"
#include "agent/inject/process.h"

namespace graphdbg::inject {

namespace {

// The C library's frames of sem_wait and its variants are smaller.
constexpr size_t kSearchedWords = 96;

bool IsLibc(const Mapping& mapping) {
  const absl::string_view name = BaseName(mapping.path);
  return absl::StartsWith(name, "libc.") || absl::StartsWith(name, "libc-") ||
         absl::StartsWith(name, "libpthread") ||
         absl::StartsWith(name, "ld-musl");
}

}  // namespace

bool WaitsForLock(const PythonProcess& process, const Registers& registers) {
  const std::optional<int64_t> call =
      InterruptedSystemCall(process.pid, registers);
  if (!call.has_value() || *call != SYS_futex) return false;
  const Mapping* const here =
      FindMapping(process.mappings, InstructionPointer(registers));
  if (here == nullptr || !IsLibc(*here)) return false;
  std::array<uint64_t, kSearchedWords> stack;
  if (!ReadMemory(process.pid, StackPointer(registers), sizeof(stack),
                  stack.data())) {
    return false;
  }
  // The first address of code outside the C library is where the library
  // returns to.
  for (const uint64_t word : stack) {
    const Mapping* const mapping = FindMapping(process.mappings, word);
    if (mapping == nullptr || !mapping->executable || IsLibc(*mapping)) {
      continue;
    }
    return std::any_of(
        process.lock_waits.begin(), process.lock_waits.end(),
        [word](const AddressRange& each) { return each.Contains(word); });
  }
  return false;
}

}  // namespace graphdbg::inject
