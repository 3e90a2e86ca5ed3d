// Keeps the ranks of a job together: when one stops, all stop, at the end of
// the same step. Ranks wait for each other in collectives, so if only one rank
// stops, the others block in theirs until they time out.
//
// The common step is not always that of the rank that stopped first: another
// rank may already be a step ahead, wait there for the first one, and be unable
// to stop before the end of its step. Each rank is therefore asked to stop
// after its current step and reports which step that is. The furthest of these
// is the common step, and ranks that stopped earlier continue up to it. If all
// ranks have stopped inside the same step, each at its node, they stay there.
#ifndef SERVER_JOBS_RANK_SYNC_H_
#define SERVER_JOBS_RANK_SYNC_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace graphdbg::jobs {

// The position of a rank that is connected and has started its program.
struct RankPosition {
  uint32_t rank = 0;
  // False, too, if it was ordered to resume and has not confirmed that yet.
  bool stopped = false;
  // Stopped before its first step.
  bool at_start = false;
  // Stopped at a node, inside a step.
  bool inside = false;
  // Stopped at an exception, after which it has no further steps.
  bool failed = false;
  // If stopped: the number of completed steps.
  uint64_t steps_ended = 0;
  // If not stopped: the step after which it will be. Absent if it is not known
  // to stop.
  std::optional<uint64_t> stops_after;
  // If not stopped: it was asked to stop.
  bool asked_to_stop = false;
};

struct SyncOrder {
  enum class Kind {
    // Stop at the end of the current step.
    kStop,
    // Run `steps` steps, ignoring hits on the way.
    kStep,
    // Continue: it connected late, while the other ranks were running.
    kFollow,
  };
  uint32_t rank = 0;
  Kind kind = Kind::kStop;
  uint64_t steps = 0;

  bool operator==(const SyncOrder&) const = default;
};

// The orders that bring the ranks together. `runs_freely`: the user has
// continued all ranks, and none has stopped since.
std::vector<SyncOrder> KeepTogether(const std::vector<RankPosition>& ranks,
                                    bool runs_freely);

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_RANK_SYNC_H_
