// Times the ops of some steps, for the overview and for recordings.
#ifndef AGENT_CORE_OP_TIMER_H_
#define AGENT_CORE_OP_TIMER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "agent/base/mutex.h"
#include "proto/graphdbg/v1/overview.pb.h"

namespace graphdbg::agent {

// A time is that of the call, on the thread that makes it: a kernel on an
// accelerator runs later. Any thread.
class OpTimer {
 public:
  using Clock = std::chrono::steady_clock;
  using Nanoseconds = std::chrono::nanoseconds;

  // On average, which bounds the traffic of programs with many ops: after a
  // step with more, some steps are not timed.
  static constexpr double kOpsPerSecond = 20'000;

  // Whether somebody shows the times. From the next step on.
  void SetWanted(bool wanted) { wanted_ = wanted; }
  bool wanted() const { return wanted_; }

  // `recorded`: the step is timed in any case, for a recording.
  void BeginStep(Clock::time_point now, bool recorded = false)
      GRAPHDBG_EXCLUDES(mu_);
  // Whether ops of this step are timed. Without a lock.
  bool on() const { return on_.load(std::memory_order_relaxed); }
  // This thread begins an op, and has ended it. Ops do not nest.
  void Begin(uint32_t node);
  void End() GRAPHDBG_EXCLUDES(mu_);
  // Subtracts time that the agent itself has spent within this thread's current
  // op, if there is one.
  void Exclude(Nanoseconds time);
  // Returns the times since BeginStep; without ops if none were timed.
  v1::OpTimes EndStep(Clock::time_point now) GRAPHDBG_EXCLUDES(mu_);

 private:
  // The op that a thread is in.
  struct OpenOp {
    const OpTimer* timer = nullptr;
    uint32_t node = 0;
    // The step in which it began.
    uint64_t step = 0;
    Clock::time_point begin;
    Nanoseconds excluded{0};
  };
  static OpenOp& ThisThreads();

  uint32_t NumberOfThread() GRAPHDBG_REQUIRES(mu_);

  std::atomic<bool> wanted_{false};
  std::atomic<bool> on_{false};
  // Counts steps, so that an op that began in another one is recognized.
  std::atomic<uint64_t> step_{0};

  Mutex mu_;
  Clock::time_point step_begin_ GRAPHDBG_GUARDED_BY(mu_);
  // When the limit allows the next step.
  Clock::time_point next_ GRAPHDBG_GUARDED_BY(mu_);
  std::vector<std::thread::id> threads_ GRAPHDBG_GUARDED_BY(mu_);
  v1::OpTimes times_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_OP_TIMER_H_
