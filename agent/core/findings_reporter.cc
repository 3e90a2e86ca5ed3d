#include "agent/core/findings_reporter.h"

#include <algorithm>
#include <utility>

#include "agent/core/log.h"

namespace graphdbg::agent {

Findings FindingsReporter::NewFindings() const {
  Findings findings;
  findings.recorder = recorder_;
  // Readers of a recording distinguish hits that were absorbed.
  findings.may_wait = !attended_ || outbox_->peer_knows_absorbed();
  return findings;
}

bool FindingsReporter::RecordsStatistics() const {
  if (recorder_ == nullptr) return false;
  if (!recorder_->recording()) recorder_->LeaveOut();
  return recorder_->recording();
}

std::vector<uint32_t> FindingsReporter::Report(Findings findings) {
  if (limits_ != nullptr) limits_->Apply(&findings);
  if (!findings.notice.empty()) Notify(findings.notice);
  if (!findings.stop_at_step_end.empty()) {
    MutexLock lock(&mu_);
    std::vector<uint32_t>& stops = step_end_stops_;
    for (uint32_t id : findings.stop_at_step_end) {
      if (std::find(stops.begin(), stops.end(), id) == stops.end()) {
        stops.push_back(id);
      }
    }
  }
  for (v1::Hit& hit : findings.hits) {
    RecordNonFinite(hit);
    if (on_hit_) on_hit_(hit);
    if (attended_) outbox_->PutHit(std::move(hit));
  }
  for (v1::WatchpointStatus& status : findings.unchecked) {
    outbox_->PutWatchpointStatus(std::move(status));
  }
  return std::move(findings.stop_here);
}

void FindingsReporter::RecordNonFinite(const v1::Hit& hit) {
  const v1::Statistics& statistics = hit.statistics();
  NonFinite found;
  found.nan = statistics.nan_count() > 0;
  found.pos_inf = statistics.pos_inf_count() > 0;
  found.neg_inf = statistics.neg_inf_count() > 0;
  if (hit.absorbed() || !found.any()) return;
  MutexLock lock(&mu_);
  if (non_finite_step_ != hit.step()) non_finite_ = NonFinite();
  non_finite_step_ = hit.step();
  non_finite_.Add(found);
}

NonFinite FindingsReporter::TakeNonFinite(uint64_t step) {
  MutexLock lock(&mu_);
  const NonFinite found = std::exchange(non_finite_, {});
  return non_finite_step_ == step ? found : NonFinite();
}

void FindingsReporter::ReportStatistics(uint64_t step) {
  v1::StatisticsReport report =
      recorder_->EndStep(step, StatisticsRecorder::Clock::now());
  if (report.tensors_size() > 0) outbox_->PutStatistics(std::move(report));
}

void FindingsReporter::Notify(const std::string& line) {
  LogToStderr(line);
  outbox_->PutLog(v1::Log::LEVEL_INFO, line);
}

std::vector<uint32_t> FindingsReporter::TakeStepEndStops() {
  MutexLock lock(&mu_);
  return std::exchange(step_end_stops_, {});
}

}  // namespace graphdbg::agent
