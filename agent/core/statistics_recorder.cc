#include "agent/core/statistics_recorder.h"

#include <algorithm>
#include <utility>

#include "agent/core/message_parts.h"

namespace graphdbg::agent {
namespace {

using std::chrono::milliseconds;

// How much unused allowance accumulates for a burst: a few steps in a row. A
// program that waits between short bursts of steps would otherwise spend in
// them what it saved while it did nothing.
constexpr milliseconds kMessagesSaved(200);
constexpr milliseconds kTimeSaved(30);

// The time at which the allowance is available again after `cost` is spent.
// `next` is that time before, and `saved` how much allowance accumulates.
StatisticsRecorder::Clock::time_point After(
    StatisticsRecorder::Clock::time_point next,
    StatisticsRecorder::Clock::time_point now, milliseconds saved,
    std::chrono::duration<double> cost) {
  return std::max(next, now - saved) +
         std::chrono::duration_cast<StatisticsRecorder::Clock::duration>(cost);
}

}  // namespace

void StatisticsRecorder::Record(uint32_t node, uint32_t slot,
                                conditions::TensorMeasurements* measurements) {
  const Clock::time_point begin = Clock::now();
  const Statistics& statistics = measurements->statistics();
  MutexLock lock(&mu_);
  if (static_cast<size_t>(report_.tensors_size()) < limits_.tensors_per_step) {
    v1::StatisticsReport::Tensor* const tensor = report_.add_tensors();
    tensor->set_node_id(node);
    tensor->set_slot(slot);
    *tensor->mutable_statistics() = ToProto(statistics);
  } else {
    recording_ = false;
    LeaveOut();
  }
  spent_ += Clock::now() - begin;
}

v1::StatisticsReport StatisticsRecorder::EndStep(uint64_t step,
                                                 Clock::time_point now) {
  if (leaves_out_.exchange(false)) ++steps_left_out_;
  MutexLock lock(&mu_);
  v1::StatisticsReport report = std::exchange(report_, {});
  report.set_step(step);
  if (report.tensors_size() > 0) {
    next_to_send_ =
        After(next_to_send_, now, kMessagesSaved,
              std::chrono::duration<double>(report.tensors_size() /
                                            limits_.tensors_per_second));
    next_to_measure_ = After(next_to_measure_, now, kTimeSaved,
                             std::exchange(spent_, {}) / limits_.time_share);
  }
  recording_ = now >= next_to_send_ && now >= next_to_measure_;
  return report;
}

}  // namespace graphdbg::agent
