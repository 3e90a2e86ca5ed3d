#include "server/jobs/run_state.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/model/enum_names.h"

namespace graphdbg::jobs {
namespace {

// Ranks pause reasons by how informative they are.
int Weight(model::PauseReason reason) {
  switch (reason) {
    case model::PauseReason::kNone:
      return 0;
    case model::PauseReason::kStart:
      return 1;
    case model::PauseReason::kStep:
      return 2;
    case model::PauseReason::kUser:
      return 3;
    case model::PauseReason::kNode:
      return 4;
    case model::PauseReason::kError:
      return 5;
    case model::PauseReason::kWatchpoint:
      return 6;
  }
  return 0;
}

bool StoppedAtException(const RunState& rank) {
  return rank.state == model::JobState::kPaused &&
         rank.reason == model::PauseReason::kError;
}

model::JobState StateOfLive(const std::vector<const RunState*>& live) {
  size_t paused = 0;
  bool failed = false;
  bool pausing = false;
  bool running = false;
  for (const RunState* rank : live) {
    paused += rank->state == model::JobState::kPaused;
    failed |= StoppedAtException(*rank);
    pausing |= rank->state == model::JobState::kPausing;
    running |= rank->state == model::JobState::kRunning;
  }
  if (failed || paused == live.size()) return model::JobState::kPaused;
  if (pausing) return model::JobState::kPausing;
  return running ? model::JobState::kRunning : model::JobState::kConnecting;
}

model::JobState StateOfEnded(const std::vector<const RunState*>& ranks) {
  auto any = [&](model::JobState state) {
    return std::any_of(ranks.begin(), ranks.end(),
                       [&](const RunState* r) { return r->state == state; });
  };
  if (any(model::JobState::kLost)) return model::JobState::kLost;
  return any(model::JobState::kTerminated) ? model::JobState::kTerminated
                                           : model::JobState::kFinished;
}

}  // namespace

bool IsEnded(model::JobState state) {
  return state == model::JobState::kFinished ||
         state == model::JobState::kTerminated ||
         state == model::JobState::kLost;
}

RunState Combine(const std::vector<const RunState*>& ranks) {
  RunState job;
  if (ranks.empty()) return job;
  std::vector<const RunState*> live;
  for (const RunState* rank : ranks) {
    job.step = std::max(job.step, rank->step);
    if (!IsEnded(rank->state)) live.push_back(rank);
  }
  if (live.empty()) {
    job.state = StateOfEnded(ranks);
    return job;
  }
  job.state = StateOfLive(live);
  if (job.state != model::JobState::kPaused) return job;
  const RunState* most_informative = *std::max_element(
      live.begin(), live.end(), [](const RunState* a, const RunState* b) {
        return Weight(a->reason) < Weight(b->reason);
      });
  job.reason = most_informative->reason;
  job.node = most_informative->node;
  for (const RunState* rank : live) {
    job.stopped_by.insert(job.stopped_by.end(), rank->stopped_by.begin(),
                          rank->stopped_by.end());
  }
  std::sort(job.stopped_by.begin(), job.stopped_by.end());
  job.stopped_by.erase(
      std::unique(job.stopped_by.begin(), job.stopped_by.end()),
      job.stopped_by.end());
  return job;
}

absl::Status CheckControl(model::ControlVerb verb, const RunState& run) {
  const bool paused = run.state == model::JobState::kPaused;
  bool fits = false;
  switch (verb) {
    case model::ControlVerb::kContinue:
    case model::ControlVerb::kRecheck:
      fits = paused;
      break;
    case model::ControlVerb::kStep:
    case model::ControlVerb::kNextNode:
    case model::ControlVerb::kContinueTo:
      fits = paused && run.reason != model::PauseReason::kError;
      break;
    case model::ControlVerb::kPause:
      fits = run.state == model::JobState::kRunning;
      break;
    case model::ControlVerb::kTerminate:
      fits = !IsEnded(run.state);
      break;
  }
  if (fits) return absl::OkStatus();
  return Error(
      absl::StatusCode::kFailedPrecondition, "invalid_state",
      absl::StrCat("cannot ", std::string(model::ToString(verb)),
                   ": the job is ", std::string(model::ToString(run.state)),
                   paused ? " for an exception, after which it can only "
                            "continue to its end or be terminated"
                          : ""));
}

}  // namespace graphdbg::jobs
