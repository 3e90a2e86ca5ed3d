#include "agent/core/statistics_recorder.h"

#include <algorithm>
#include <utility>

#include "agent/core/checker.h"

namespace graphdbg::agent {
namespace {

// What was not used earlier, up to this, may be used at once: a few steps in a
// row.
constexpr std::chrono::seconds kSaved(1);

}  // namespace

void StatisticsRecorder::Record(uint32_t node, uint32_t slot,
                                conditions::Evidence* evidence) {
  const Clock::time_point begin = Clock::now();
  const Statistics& statistics = evidence->statistics();
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
    const std::chrono::duration<double> to_send(report.tensors_size() /
                                                limits_.per_second);
    const std::chrono::duration<double> to_measure =
        std::exchange(spent_, {}) / limits_.share_of_time;
    next_ = std::max(next_, now - kSaved) +
            std::chrono::duration_cast<Clock::duration>(
                std::max<std::chrono::duration<double>>(to_send, to_measure));
  }
  recording_ = now >= next_;
  return report;
}

}  // namespace graphdbg::agent
