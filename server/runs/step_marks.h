// Beginnings and ends of a step and of the passes within it.
#ifndef SERVER_RUNS_STEP_MARKS_H_
#define SERVER_RUNS_STEP_MARKS_H_

#include <span>
#include <vector>

#include "server/model/run.h"
#include "server/runs/rank_log.h"
#include "server/runs/step_index.h"

namespace graphdbg::recorded {

// The step as the API describes it: one entry for each mode in which it has
// marks, the step itself first. Reads only the marks if they are where the
// counts of ends say, which is usual, and the whole step otherwise.
std::vector<model::RecordedStep> DescribeStep(
    const RankLog& log, std::span<const StepEntry> entries);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_STEP_MARKS_H_
