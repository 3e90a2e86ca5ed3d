// Keeps the ranks of a job together: where one stops, all stop, at the end of
// one and the same step. Ranks wait for each other in collectives, so one that
// stands alone makes the others wait in theirs until they give up.
//
// The step need not be that of the rank that stopped first: others may be a
// step ahead already, wait there for that rank, and cannot stop before the
// step's end. So each rank is asked to stop after its step and says which one
// that is; the furthest is the step, and those that stopped before it go on
// until it. Where all stand inside of one step, each at its node, they stay.
#ifndef SERVER_JOBS_RANK_SYNC_H_
#define SERVER_JOBS_RANK_SYNC_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace graphdbg::jobs {

// A rank that is connected and has begun its program.
struct RankPosition {
  uint32_t rank = 0;
  // False also if it was told to go on and has not said that it does.
  bool stopped = false;
  // Stopped before its first step.
  bool at_start = false;
  // Stopped at a node, in the midst of a step.
  bool inside = false;
  // Stopped: the steps that have ended.
  uint64_t steps_ended = 0;
  // Not stopped: it will be after this step; absent: not known to stop.
  std::optional<uint64_t> stops_after;
  // Not stopped: it was asked to stop.
  bool asked_to_stop = false;
};

struct SyncOrder {
  enum class Kind {
    // Stop at the end of the step under way.
    kStop,
    // Go on for `steps` steps, whatever is hit there.
    kStep,
    // Go on: it came late to ranks that run.
    kFollow,
  };
  uint32_t rank = 0;
  Kind kind = Kind::kStop;
  uint64_t steps = 0;

  bool operator==(const SyncOrder&) const = default;
};

// What to tell whom. `runs_freely`: the user has let all of them go, and none
// has stopped since.
std::vector<SyncOrder> KeepTogether(const std::vector<RankPosition>& ranks,
                                    bool runs_freely);

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_RANK_SYNC_H_
