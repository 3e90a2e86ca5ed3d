// The recorder that is in use, if any.
#ifndef AGENT_CORE_RECORDER_SWITCH_H_
#define AGENT_CORE_RECORDER_SWITCH_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace graphdbg::agent {

class Recorder;

// Any thread. A recorder that was replaced exists for as long as a thread may
// still use it.
class RecorderSwitch {
 public:
  std::shared_ptr<Recorder> current() const {
    return std::atomic_load(&current_);
  }

  // The same in a forked child, where the lock of current() may be held for
  // ever.
  Recorder* InForkedChild() const { return in_child_.load(); }

  // The same from a thread-local cache, so that threads do not contend for the
  // reference count. Valid until the next call on this thread.
  Recorder* OnThisThread() const {
    const uint64_t version = version_.load(std::memory_order_acquire);
    if (version == 0) return nullptr;
    thread_local Seen seen;
    if (seen.version != version) seen = {version, current()};
    return seen.recorder.get();
  }

  void Set(std::shared_ptr<Recorder> recorder) {
    // Differs for each recorder of each switch.
    static std::atomic<uint64_t> versions{0};
    // First, so that it always exists: the one before is released afterwards.
    in_child_ = recorder.get();
    std::atomic_store(&current_, std::move(recorder));
    version_.store(++versions, std::memory_order_release);
  }

 private:
  struct Seen {
    uint64_t version = 0;
    std::shared_ptr<Recorder> recorder;
  };

  // Accessed with atomic_load and atomic_store only.
  std::shared_ptr<Recorder> current_;
  std::atomic<Recorder*> in_child_{nullptr};
  // 0: there has been none.
  std::atomic<uint64_t> version_{0};
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_RECORDER_SWITCH_H_
