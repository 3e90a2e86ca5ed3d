#include "agent/core/op_timer.h"

#include <algorithm>
#include <utility>

#include "proto/wire/limits.h"

namespace graphdbg::agent {
namespace {

uint64_t Count(OpTimer::Nanoseconds time) {
  return static_cast<uint64_t>(std::max<int64_t>(time.count(), 0));
}

}  // namespace

OpTimer::OpenOp& OpTimer::ThisThreads() {
  thread_local OpenOp op;
  return op;
}

void OpTimer::BeginStep(Clock::time_point now, bool recorded) {
  MutexLock lock(&mu_);
  ++step_;
  step_begin_ = now;
  times_.Clear();
  threads_.clear();
  on_ = recorded || (wanted_ && now >= next_);
}

void OpTimer::Begin(uint32_t node) {
  ThisThreads() = {this, node, step_, Clock::now(), Nanoseconds(0)};
}

void OpTimer::Exclude(Nanoseconds time) {
  OpenOp& op = ThisThreads();
  if (op.timer == this) op.excluded += time;
}

void OpTimer::End() {
  const Clock::time_point now = Clock::now();
  OpenOp& op = ThisThreads();
  if (std::exchange(op.timer, nullptr) != this || op.step != step_) return;
  MutexLock lock(&mu_);
  if (times_.node_ids_size() >= wire::kMaxOverviewOps) {
    times_.set_left_out(times_.left_out() + 1);
    return;
  }
  times_.add_node_ids(op.node);
  times_.add_start_ns(Count(op.begin - step_begin_));
  times_.add_duration_ns(Count(now - op.begin - op.excluded));
  times_.add_threads(NumberOfThread());
}

uint32_t OpTimer::NumberOfThread() {
  const auto known =
      std::find(threads_.begin(), threads_.end(), std::this_thread::get_id());
  const auto number = static_cast<uint32_t>(known - threads_.begin());
  if (known == threads_.end()) threads_.push_back(std::this_thread::get_id());
  return number;
}

v1::OpTimes OpTimer::EndStep(Clock::time_point now) {
  v1::OpTimes times;
  MutexLock lock(&mu_);
  on_ = false;
  times.Swap(&times_);
  const std::chrono::duration<double> pause(times.node_ids_size() /
                                            kOpsPerSecond);
  // A second's worth may come at once.
  next_ = std::max(next_, now - std::chrono::seconds(1)) +
          std::chrono::duration_cast<Clock::duration>(pause);
  return times;
}

}  // namespace graphdbg::agent
