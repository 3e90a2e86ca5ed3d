// Records statistics of watched tensors for their histories.
#ifndef AGENT_CORE_STATISTICS_RECORDER_H_
#define AGENT_CORE_STATISTICS_RECORDER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "agent/base/mutex.h"
#include "agent/conditions/tensor_measurements.h"
#include "proto/graphdbg/v1/tensor.pb.h"

namespace graphdbg::agent {

// Records whole steps, and only as many of them as cost little: on average no
// more than the limits below allow, with short bursts. So the history of a few
// tensors has every step, and that of a whole graph has some of them.
//
// Any thread. Outside of recorded steps it costs one atomic load.
class StatisticsRecorder {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    // Further tensors of the step are left out.
    size_t tensors_per_step = 5'000;
    double tensors_per_second = 1'000;
    // Time spent on measuring, as a share of the program's time.
    double time_share = 0.01;
  };

  StatisticsRecorder() : StatisticsRecorder(Limits()) {}
  explicit StatisticsRecorder(Limits limits) : limits_(limits) {}

  // Whether this step is recorded.
  bool recording() const { return recording_.load(std::memory_order_relaxed); }
  // Computes the statistics if `measurements` has not done so yet.
  void Record(uint32_t node, uint32_t slot,
              conditions::TensorMeasurements* measurements);
  // Instead of Record: a tensor was checked in a step that is not recorded.
  void LeaveOut() { leaves_out_.store(true, std::memory_order_relaxed); }
  // The number of steps of which some tensors were left out.
  uint64_t steps_left_out() const { return steps_left_out_.load(); }
  // Returns what was recorded in the step that has ended, and decides whether
  // the next one is recorded.
  v1::StatisticsReport EndStep(uint64_t step, Clock::time_point now);

 private:
  const Limits limits_;
  std::atomic<bool> recording_{true};
  std::atomic<bool> leaves_out_{false};
  std::atomic<uint64_t> steps_left_out_{0};
  Mutex mu_;
  v1::StatisticsReport report_ GRAPHDBG_GUARDED_BY(mu_);
  // Time spent on measuring in this step.
  Clock::duration spent_ GRAPHDBG_GUARDED_BY(mu_){};
  // When the limits allow the next report and the next measurement.
  Clock::time_point next_to_send_ GRAPHDBG_GUARDED_BY(mu_);
  Clock::time_point next_to_measure_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_STATISTICS_RECORDER_H_
