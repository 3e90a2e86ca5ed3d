#include "server/jobs/statistics_recorder.h"

namespace graphdbg::jobs {

void StatisticsRecorder::Record(uint32_t rank, graph::NodeIndex node,
                                uint32_t slot, uint64_t step,
                                const model::Statistics& statistics,
                                KnownStatistics::Source source) {
  const auto change = known_.Add(rank, node, slot, step, statistics, source);
  JobJournal* journal = recorder_.journal();
  if (journal == nullptr) return;
  if (change.erase_step) {
    journal->EraseStatistics(rank, node, slot, *change.erase_step);
  }
  if (change.record) {
    journal->RecordStatistics(rank, node, slot, step, statistics);
  }
}

void StatisticsRecorder::OnReport(const Rank& rank,
                                  const StatisticsReport& report,
                                  RateLimit::Clock::time_point now) {
  uint64_t recordable = recorded_reports_.Take(report.tensors.size(), now);
  for (const StatisticsReport::Tensor& tensor : report.tensors) {
    const graph::NodeIndex node = rank.ids.Find(tensor.node_id);
    if (node == graph::kNoNode) continue;
    const auto source = recordable > 0
                            ? KnownStatistics::Source::kReport
                            : KnownStatistics::Source::kUnrecordedReport;
    if (recordable > 0) --recordable;
    Record(rank.hello.rank, node, tensor.slot, report.step, tensor.statistics,
           source);
  }
}

}  // namespace graphdbg::jobs
