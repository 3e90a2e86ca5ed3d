#include "agent/core/own_time.h"

#include <algorithm>
#include <chrono>

namespace graphdbg::agent {
namespace {

// A thread's state within a run of measured steps. Not kept per agent, because
// a process has one at a time.
struct Inside {
  uint64_t run = 0;
  // How often it has entered in this run, and not left.
  int depth = 0;
  // Until when its time is counted while it is inside.
  int64_t since = 0;
};
thread_local Inside inside;

// Runs are numbered for all agents of the process, one after the other.
std::atomic<uint64_t> runs{0};

int64_t SteadyNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

OwnTime::OwnTime(Clock now) : now_(now == nullptr ? SteadyNow : now) {}

void OwnTime::EnterMeasured() {
  Inside& here = inside;
  const uint64_t run = run_.load(std::memory_order_relaxed);
  if (here.run != run) here = {run};
  if (here.depth++ == 0) here.since = now_();
}

void OwnTime::LeaveMeasured() {
  Inside& here = inside;
  const uint64_t run = run_.load(std::memory_order_relaxed);
  // It entered before the run began.
  if (here.run != run) here = {run};
  if (here.depth > 1) {
    --here.depth;
    return;
  }
  here.depth = 0;
  const int64_t now = now_();
  spent_.fetch_add(now - std::max(here.since, began_.load()),
                   std::memory_order_relaxed);
  // If it has still not left what it entered before the run, its time counts
  // from here on.
  here.since = now;
}

void OwnTime::EndStep(uint64_t stops) {
  const int64_t now = now_();
  const int64_t duration = now - began_.load();
  Inside& here = inside;
  if (measuring_ && stops == stops_) {
    // This thread is inside.
    const int64_t from = std::max(here.since, began_.load());
    AddSample(static_cast<double>(spent_.load() + now - from) /
              static_cast<double>(std::max<int64_t>(duration, 1)));
  }
  const bool first = steps_++ == 0;
  const bool due = steps_ % kEvery == 0 || (!first && duration >= kLongStep);
  stops_ = stops;
  began_ = now;
  spent_ = 0;
  if (due && !measuring_) {
    run_ = ++runs;
    here = {run_};
  }
  here.since = now;
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
