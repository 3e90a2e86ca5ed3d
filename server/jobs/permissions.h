// Operations that the owner of a job allows the server.
#ifndef SERVER_JOBS_PERMISSIONS_H_
#define SERVER_JOBS_PERMISSIONS_H_

#include "absl/status/status.h"
#include "server/jobs/job_state_machine.h"
#include "server/model/job.h"

namespace graphdbg::jobs {

// Operations that all ranks allow. They refuse the rest themselves; the server
// refuses it first, with an immediate error.
model::Allowed AllowedByRanks(const JobStateMachine& machine);

// Each returns PERMISSION_DENIED "not_allowed_by_job" if the job's owner does
// not allow it.
absl::Status CheckMayCommand(const model::Allowed& allowed,
                             model::ControlVerb verb);
absl::Status CheckMayWatch(const model::Allowed& allowed);
absl::Status CheckMayRecord(const model::Allowed& allowed);
absl::Status CheckMayExperiment(const model::Allowed& allowed);
absl::Status CheckMayChange(const model::Allowed& allowed);
absl::Status CheckMayView(const model::Allowed& allowed);

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_PERMISSIONS_H_
