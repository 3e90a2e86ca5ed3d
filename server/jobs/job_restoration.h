// Restores a job from its journal.
#ifndef SERVER_JOBS_JOB_RESTORATION_H_
#define SERVER_JOBS_JOB_RESTORATION_H_

#include "absl/status/status.h"
#include "server/graph/graph_store.h"
#include "server/jobs/job_state_machine.h"
#include "server/jobs/journal.h"
#include "server/jobs/known_statistics.h"
#include "server/watch/hit_log.h"
#include "server/watch/watch_table.h"

namespace graphdbg::jobs {

// The parts of a new job that are restored.
struct RestoredParts {
  JobStateMachine& machine;
  graph::GraphStore& graph;
  watch::WatchTable& watchpoints;
  watch::HitLog& hits;
  KnownStatistics& statistics;
};

// Ranks that were alive become connecting. Restores what it can; the error
// reports what is the first thing that it could not, for example DATA_LOSS if
// the records contradict each other.
absl::Status RestoreJob(SavedJob& saved, const RestoredParts& parts);

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_JOB_RESTORATION_H_
