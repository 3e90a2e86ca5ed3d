// Statistics of watched tensors, for their histories.
#ifndef AGENT_CORE_STATISTICS_RECORDER_H_
#define AGENT_CORE_STATISTICS_RECORDER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "agent/conditions/tensor_measurements.h"
#include "proto/graphdbg/v1/tensor.pb.h"

namespace graphdbg::agent {

// Those of whole steps, and of as many steps as cost little: on average the
// limits below, where a second's worth of messages may be sent at once. So the
// history of a few tensors has every step, and that of a whole graph some of
// them.
//
// Any thread. Outside of recorded steps it costs the look at a flag.
class StatisticsRecorder {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    // What comes later in the step is left out.
    size_t of_a_step = 5'000;
    double per_second = 1'000;
    // Of the program's time.
    double share_of_time = 0.01;
  };

  StatisticsRecorder() : StatisticsRecorder(Limits()) {}
  explicit StatisticsRecorder(Limits limits) : limits_(limits) {}

  // Whether this step is recorded.
  bool recording() const { return recording_.load(std::memory_order_relaxed); }
  // Measures what `evidence` has not measured yet.
  void Record(uint32_t node, uint32_t slot,
              conditions::TensorMeasurements* measurements);
  // The step is over: gives what was recorded of it, and decides on the next.
  v1::StatisticsReport EndStep(uint64_t step, Clock::time_point now);

 private:
  const Limits limits_;
  std::atomic<bool> recording_{true};
  std::mutex mu_;
  // Guarded by mu_.
  v1::StatisticsReport report_;
  Clock::duration spent_{};
  Clock::time_point next_to_send_;
  Clock::time_point next_to_measure_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_STATISTICS_RECORDER_H_
