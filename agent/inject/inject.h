// Has the main thread of a running CPython process run a text, between two
// bytecodes and when the interpreter chooses.
#ifndef AGENT_INJECT_INJECT_H_
#define AGENT_INJECT_INJECT_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphdbg::inject {

constexpr size_t kMaxTextBytes = 64 << 10;

// Where a text contains this, it gets the address of its memory, 64 KiB or less
// that nobody frees unless the text does so.
constexpr absl::string_view kAddressMark = "0xGRAPHDBG_ADDRESS";

struct Injection {
  enum class Result { kQueued, kQueueFull };
  Result result = Result::kQueued;
  // How long the main thread stood still.
  std::chrono::microseconds stopped{0};
  // Where it was, such as "clock_nanosleep in libc.so.6".
  std::string where;
  // It waited for a lock, and was woken to run the text.
  bool nudged = false;
};

// Called with the name of each step when it is done.
using OnStep = std::function<void(absl::string_view step)>;

// Makes the text, Python source that must not raise, run in a process. Does not
// wait for that.
//
// Errors, by their codes:
//   no_process, other_user, no_python, file_replaced, not_dumpable, traced,
//   stopped, yama, container     the process was not touched
//   in_kernel    it did not stop within 2 s
//   queue_locked the interpreter's queue was locked for 1 s; nothing was
//   changed call_failed  the interpreter is not in a state to be called, as at
//   its start ended        it has ended meanwhile
absl::StatusOr<Injection> Inject(pid_t pid, const std::string& text,
                                 const OnStep& on_step);

}  // namespace graphdbg::inject

#endif  // AGENT_INJECT_INJECT_H_
