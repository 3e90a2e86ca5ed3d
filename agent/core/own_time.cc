#include "agent/core/own_time.h"

#include <algorithm>
#include <chrono>

namespace graphdbg::agent {
namespace {

// A thread's state. Not kept per agent, because a process has one at a time.
struct Inside {
  int depth = 0;
  // When it entered; 0 if that was not measured.
  int64_t since = 0;
};
thread_local Inside inside;

int64_t SteadyNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

OwnTime::OwnTime(Clock now) : now_(now == nullptr ? SteadyNow : now) {}

void OwnTime::Enter() {
  Inside& here = inside;
  if (here.depth++ > 0) return;
  here.since = measuring_.load(std::memory_order_relaxed) ? now_() : 0;
}

void OwnTime::Leave() {
  Inside& here = inside;
  if (--here.depth > 0) return;
  if (here.since == 0 || !measuring_.load(std::memory_order_relaxed)) return;
  // It may have entered in an earlier step that was measured, too.
  const int64_t from = std::max(here.since, began_.load());
  spent_.fetch_add(now_() - from, std::memory_order_relaxed);
}

void OwnTime::EndStep(uint64_t stops) {
  const int64_t now = now_();
  const int64_t duration = now - began_.load();
  if (measuring_ && stops == stops_) {
    // This thread is inside.
    const int64_t from = std::max(inside.since, began_.load());
    AddSample(static_cast<double>(spent_.load() + now - from) /
              static_cast<double>(std::max<int64_t>(duration, 1)));
  }
  const bool first = steps_++ == 0;
  const bool due = steps_ % kEvery == 0 || (!first && duration >= kLongStep);
  stops_ = stops;
  began_ = now;
  spent_ = 0;
  inside.since = due ? now : 0;
  measuring_ = due;
}

void OwnTime::AddSample(double share) {
  samples_[sample_count_++ % kSamples] = share;
  std::array<double, kSamples> sorted = samples_;
  const size_t count = std::min(sample_count_, kSamples);
  std::sort(sorted.begin(), sorted.begin() + count);
  share_ = sorted[count / 2];
}

std::optional<double> OwnTime::share() const {
  const double share = share_.load();
  return share < 0 ? std::nullopt : std::optional(share);
}

}  // namespace graphdbg::agent
