// Describes the processes of a job for clients.
#ifndef SERVER_JOBS_JOB_DESCRIPTION_H_
#define SERVER_JOBS_JOB_DESCRIPTION_H_

#include "server/jobs/job_state_machine.h"
#include "server/model/job.h"

namespace graphdbg::jobs {

// Fills in what follows from the ranks: state, position, framework, unsupported
// commands, what is allowed, the ranks themselves, and the outcome of a job
// that has ended.
void DescribeRanks(const JobStateMachine& machine, model::Job& job);

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_JOB_DESCRIPTION_H_
