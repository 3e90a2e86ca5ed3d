// Describes the processes of a job for clients.
#ifndef SERVER_JOBS_JOB_DESCRIPTION_H_
#define SERVER_JOBS_JOB_DESCRIPTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/jobs/job_state_machine.h"
#include "server/model/job.h"

namespace graphdbg::jobs {

// A job of more ranks is described without most of them where they are not all
// asked for.
inline constexpr size_t kFewRanks = 64;

bool HasFewRanks(const JobStateMachine& machine);

// Which ranks the description of a job of many ranks lists.
struct ListedRanks {
  enum class Which { kAll, kFirst, kChanged };
  Which which = Which::kAll;
  // For kChanged.
  std::vector<uint32_t> changed;
  // The listed ranks are processes that clients know: states and positions are
  // enough.
  bool brief = false;
};

// Fills in what follows from the ranks: state, position, framework, unsupported
// commands, what is allowed, the ranks themselves, and the outcome of a job
// that has ended.
void DescribeRanks(const JobStateMachine& machine, const ListedRanks& listed,
                   model::Job& job);

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_JOB_DESCRIPTION_H_
