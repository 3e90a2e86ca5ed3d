// Finds where two recorded runs, or two ranks of one, diverge: the first op
// whose statistics, or digests, differ.
// agent/python/graphdbg/runs/divergence.py finds the same.
//
// Executions are matched by step, mode, pass, iteration and the tensor's name,
// or what node_alignment.h takes for the same; several of the same tensor
// within these by their order.
#ifndef SERVER_RUNS_DIVERGENCE_H_
#define SERVER_RUNS_DIVERGENCE_H_

#include <atomic>

#include "absl/status/statusor.h"
#include "server/model/divergence.h"
#include "server/runs/compared_rank.h"

namespace graphdbg::recorded {

// Reads both logs step by step until it has found enough differences. The
// ranks in `query` do not matter. `calibration` may be null; it counts as equal
// to `here`. The relative tolerance of a tensor is at least 8 times the largest
// relative difference of a measure between the two up to the step. CANCELLED
// once `cancelled` is true.
absl::StatusOr<model::Divergence> FindDivergence(
    const ComparedRank& here, const ComparedRank& there,
    const ComparedRank* calibration, const model::DivergenceQuery& query,
    const std::atomic<bool>& cancelled);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_DIVERGENCE_H_
