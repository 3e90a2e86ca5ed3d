#include "agent/core/statistics_recorder.h"

#include <algorithm>
#include <utility>

#include "agent/core/checker.h"

namespace graphdbg::agent {
namespace {

using std::chrono::milliseconds;

// What was not used earlier may be used at once, up to what falls due in this
// time. Of messages that is a few steps in a row. Of the program's own time it
// is little, else a program that waits between short bursts of steps would
// spend in them what it saved while it did nothing.
constexpr milliseconds kMessagesSaved(1'000);
constexpr milliseconds kTimeSaved(100);

// When what costs `cost` may follow, if what came before allowed it at `next`.
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
  std::lock_guard<std::mutex> lock(mu_);
  if (static_cast<size_t>(report_.tensors_size()) < limits_.of_a_step) {
    v1::StatisticsReport::Tensor* const tensor = report_.add_tensors();
    tensor->set_node_id(node);
    tensor->set_slot(slot);
    *tensor->mutable_statistics() = ToProto(statistics);
  } else {
    recording_ = false;
  }
  spent_ += Clock::now() - begin;
}

v1::StatisticsReport StatisticsRecorder::EndStep(uint64_t step,
                                                 Clock::time_point now) {
  std::lock_guard<std::mutex> lock(mu_);
  v1::StatisticsReport report = std::exchange(report_, {});
  report.set_step(step);
  if (report.tensors_size() > 0) {
    next_to_send_ = After(next_to_send_, now, kMessagesSaved,
                          std::chrono::duration<double>(report.tensors_size() /
                                                        limits_.per_second));
    next_to_measure_ = After(next_to_measure_, now, kTimeSaved,
                             std::exchange(spent_, {}) / limits_.share_of_time);
  }
  recording_ = now >= next_to_send_ && now >= next_to_measure_;
  return report;
}

}  // namespace graphdbg::agent
