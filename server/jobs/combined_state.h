// The state that the ranks of a job add up to.
#ifndef SERVER_JOBS_COMBINED_STATE_H_
#define SERVER_JOBS_COMBINED_STATE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "server/jobs/run_state.h"
#include "server/model/job.h"

namespace graphdbg::jobs {

// Follows the states of ranks, so that a change of one rank does not look at
// all others. A job has thousands of ranks, each of which changes at every
// step.
//
// If any rank is alive, only live ranks count: the job is pausing if one of
// them is, and paused if all of them are, or if one of them has stopped at an
// exception, for which the others can only wait in their next collective.
// Reason and node come from the rank whose pause is the most informative (a
// watchpoint before an error before a node, and so on; of several, the lowest
// rank). The step is the furthest of all ranks. A job without ranks is
// connecting.
class CombinedState {
 public:
  // Each rank that is added is removed with the same state.
  void Add(uint32_t rank, const RunState& run);
  void Remove(uint32_t rank, const RunState& run);

  // Without the node and the exception.
  RunState Get() const;
  // The rank whose pause is the most informative. Only for a paused job.
  uint32_t MostInformative() const;
  // How many ranks are in this state.
  size_t Count(model::JobState state) const;

 private:
  static constexpr size_t kStates = 7;
  static constexpr size_t kReasons = 7;

  model::JobState State() const;
  size_t live() const;

  std::array<size_t, kStates> states_ = {};
  // Ranks that are alive, by how informative their reasons are.
  std::array<std::set<uint32_t>, kReasons> reasons_;
  // How many ranks are at each step, and how many live ones were stopped by
  // each watchpoint.
  std::map<uint64_t, size_t> steps_;
  std::map<uint32_t, size_t> stopped_by_;
  // Ranks that have stopped at an exception.
  size_t failed_ = 0;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_COMBINED_STATE_H_
