// How much of the program's time passes in graphdbg's own code.
#ifndef AGENT_CORE_OWN_TIME_H_
#define AGENT_CORE_OWN_TIME_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace graphdbg::agent {

// Measured in one of several steps, since each reading of the clock takes as
// long as some of what it measures. The time of all threads is added up. What
// graphdbg makes the framework's code slower is not part of it.
//
// Any thread may enter and leave; one thread at a time ends steps.
class OwnTime {
 public:
  // Returns nanoseconds of a steady clock.
  using Clock = int64_t (*)();

  // Null: the system's.
  explicit OwnTime(Clock now = nullptr);

  // This thread enters or leaves graphdbg's code. Calls may be nested. In steps
  // that are not measured, both only look at a flag.
  void Enter() {
    if (measuring_.load(std::memory_order_relaxed)) EnterMeasured();
  }
  void Leave() {
    if (measuring_.load(std::memory_order_relaxed)) LeaveMeasured();
  }

  // A step has ended and the next one begins. `stops` counts the times that the
  // program has stopped for the user: what passed meanwhile is nobody's time,
  // so such steps are left out.
  void EndStep(uint64_t stops);

  // The share of the time of a step: the median of those that were measured
  // last. Absent until there are some.
  std::optional<double> share() const;

 private:
  // Not a power of two, which others choose for what they do in some steps.
  static constexpr uint64_t kEvery = 17;
  // Steps of this length are all measured.
  static constexpr int64_t kLongStep = 1'000'000'000;
  static constexpr size_t kSamples = 9;

  void EnterMeasured();
  void LeaveMeasured();
  void AddSample(double share);

  const Clock now_;
  std::atomic<bool> measuring_{false};
  // The run of measured steps in progress.
  std::atomic<uint64_t> run_{0};
  // When the step in progress began, and what was spent in it if it is
  // measured.
  std::atomic<int64_t> began_{0};
  std::atomic<int64_t> spent_{0};
  // Negative if there are no samples.
  std::atomic<double> share_{-1};

  // The thread that ends steps.
  uint64_t steps_ = 0;
  uint64_t stops_ = 0;
  // The last ones, in no order.
  std::array<double, kSamples> samples_{};
  size_t sample_count_ = 0;
};

// Enters for its lifetime.
class InOwnCode {
 public:
  explicit InOwnCode(OwnTime* time) : time_(time) { time_->Enter(); }
  ~InOwnCode() { time_->Leave(); }
  InOwnCode(const InOwnCode&) = delete;
  InOwnCode& operator=(const InOwnCode&) = delete;

 private:
  OwnTime* const time_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_OWN_TIME_H_
