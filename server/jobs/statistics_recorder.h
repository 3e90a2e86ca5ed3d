// Collects the statistics of a job's tensors and records them in the journal.
#ifndef SERVER_JOBS_STATISTICS_RECORDER_H_
#define SERVER_JOBS_STATISTICS_RECORDER_H_

#include <cstdint>

#include "server/base/rate_limit.h"
#include "server/graph/agent_ids.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/job_recorder.h"
#include "server/jobs/known_statistics.h"
#include "server/jobs/rank.h"
#include "server/model/tensor.h"

namespace graphdbg::jobs {

// On the job's strand only. Statistics that agents report unasked are recorded
// at a limited rate, which a disk can sustain; those above it are kept in
// memory only.
class StatisticsRecorder {
 public:
  static constexpr uint64_t kRecordedReportsPerSecond = 2'000;

  StatisticsRecorder(KnownStatistics& known, JobRecorder& recorder,
                     RateLimit::Clock::time_point now)
      : known_(known),
        recorder_(recorder),
        recorded_reports_(kRecordedReportsPerSecond, now) {}

  // Statistics of one tensor at one step became known.
  void Record(uint32_t rank, graph::NodeIndex node, uint32_t slot,
              uint64_t step, const model::Statistics& statistics,
              KnownStatistics::Source source);

  // A rank reports the statistics of watched tensors. Unknown nodes are
  // ignored.
  void OnReport(const Rank& rank, const StatisticsReport& report,
                RateLimit::Clock::time_point now);

 private:
  KnownStatistics& known_;
  JobRecorder& recorder_;
  RateLimit recorded_reports_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_STATISTICS_RECORDER_H_
