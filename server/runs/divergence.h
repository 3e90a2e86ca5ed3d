// Finds where two recorded runs, or two ranks of one, part: the first op whose
// statistics, or digests, differ. agent/python/graphdbg/runs/divergence.py
// finds the same.
//
// Executions are matched by step, mode, pass, iteration and the tensor's name;
// several of the same tensor within these by their order. Counts must be equal.
// Measures are equal if |here - there| <= atol + rtol * size, where size is the
// larger absolute value of the two; of means, which may cancel out, the larger
// mean of absolute values, and of variances the larger mean of squares.
#ifndef SERVER_RUNS_DIVERGENCE_H_
#define SERVER_RUNS_DIVERGENCE_H_

#include <atomic>

#include "absl/status/statusor.h"
#include "server/model/divergence.h"
#include "server/runs/compared_rank.h"

namespace graphdbg::recorded {

// Reads both logs step by step until it has found enough differences. The
// ranks in `query` do not matter. CANCELLED once `cancelled` is true.
absl::StatusOr<model::Divergence> FindDivergence(
    const ComparedRank& here, const ComparedRank& there,
    const model::DivergenceQuery& query, const std::atomic<bool>& cancelled);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_DIVERGENCE_H_
