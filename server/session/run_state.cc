#include "server/session/run_state.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg::session {
namespace {

// How much a pause for this reason has to tell.
int Weight(PauseReason reason) {
  switch (reason) {
    case PauseReason::kNone:
      return 0;
    case PauseReason::kStart:
      return 1;
    case PauseReason::kStep:
      return 2;
    case PauseReason::kUser:
      return 3;
    case PauseReason::kNode:
      return 4;
    case PauseReason::kError:
      return 5;
    case PauseReason::kWatchpoint:
      return 6;
  }
  return 0;
}

JobState StateOfLive(const std::vector<const RunState*>& live) {
  size_t paused = 0;
  bool pausing = false;
  bool running = false;
  for (const RunState* rank : live) {
    paused += rank->state == JobState::kPaused;
    pausing |= rank->state == JobState::kPausing;
    running |= rank->state == JobState::kRunning;
  }
  if (paused == live.size()) return JobState::kPaused;
  if (pausing) return JobState::kPausing;
  return running ? JobState::kRunning : JobState::kConnecting;
}

JobState StateOfEnded(const std::vector<const RunState*>& ranks) {
  auto any = [&](JobState state) {
    return std::any_of(ranks.begin(), ranks.end(),
                       [&](const RunState* r) { return r->state == state; });
  };
  if (any(JobState::kLost)) return JobState::kLost;
  return any(JobState::kTerminated) ? JobState::kTerminated
                                    : JobState::kFinished;
}

}  // namespace

std::string_view Word(JobState state) {
  switch (state) {
    case JobState::kConnecting:
      return "connecting";
    case JobState::kPaused:
      return "paused";
    case JobState::kRunning:
      return "running";
    case JobState::kPausing:
      return "pausing";
    case JobState::kFinished:
      return "finished";
    case JobState::kTerminated:
      return "terminated";
    case JobState::kLost:
      return "lost";
  }
  return "unknown";
}

std::string_view Word(ControlVerb verb) {
  switch (verb) {
    case ControlVerb::kContinue:
      return "continue";
    case ControlVerb::kStep:
      return "step";
    case ControlVerb::kNextNode:
      return "next_node";
    case ControlVerb::kContinueTo:
      return "continue_to";
    case ControlVerb::kPause:
      return "pause";
    case ControlVerb::kTerminate:
      return "terminate";
    case ControlVerb::kRecheck:
      return "recheck";
  }
  return "unknown";
}

bool IsEnded(JobState state) {
  return state == JobState::kFinished || state == JobState::kTerminated ||
         state == JobState::kLost;
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
  if (job.state != JobState::kPaused) return job;
  const RunState* telling = *std::max_element(
      live.begin(), live.end(), [](const RunState* a, const RunState* b) {
        return Weight(a->reason) < Weight(b->reason);
      });
  job.reason = telling->reason;
  job.node = telling->node;
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

absl::Status CheckControl(ControlVerb verb, JobState state) {
  bool fits = false;
  switch (verb) {
    case ControlVerb::kContinue:
    case ControlVerb::kStep:
    case ControlVerb::kNextNode:
    case ControlVerb::kContinueTo:
    case ControlVerb::kRecheck:
      fits = state == JobState::kPaused;
      break;
    case ControlVerb::kPause:
      fits = state == JobState::kRunning;
      break;
    case ControlVerb::kTerminate:
      fits = !IsEnded(state);
      break;
  }
  if (fits) return absl::OkStatus();
  return Error(absl::StatusCode::kFailedPrecondition, "invalid_state",
               absl::StrCat("cannot ", std::string(Word(verb)), ": the job is ",
                            std::string(Word(state))));
}

}  // namespace graphdbg::session
