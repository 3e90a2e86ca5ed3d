#include "server/jobs/combined_state.h"

namespace graphdbg::jobs {
namespace {

// Ranks pause reasons by how informative they are.
size_t Weight(model::PauseReason reason) {
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

bool StoppedAtException(const RunState& run) {
  return run.state == model::JobState::kPaused &&
         run.reason == model::PauseReason::kError;
}

template <class Key>
void Decrement(std::map<Key, size_t>& counts, Key key) {
  const auto found = counts.find(key);
  if (--found->second == 0) counts.erase(found);
}

}  // namespace

void CombinedState::Add(uint32_t rank, const RunState& run) {
  ++states_[static_cast<size_t>(run.state)];
  ++steps_[run.step];
  if (IsEnded(run.state)) return;
  reasons_[Weight(run.reason)].insert(rank);
  for (uint32_t watchpoint : run.stopped_by) ++stopped_by_[watchpoint];
  if (StoppedAtException(run)) ++failed_;
}

void CombinedState::Remove(uint32_t rank, const RunState& run) {
  --states_[static_cast<size_t>(run.state)];
  Decrement(steps_, run.step);
  if (IsEnded(run.state)) return;
  reasons_[Weight(run.reason)].erase(rank);
  for (uint32_t watchpoint : run.stopped_by) Decrement(stopped_by_, watchpoint);
  if (StoppedAtException(run)) --failed_;
}

size_t CombinedState::Count(model::JobState state) const {
  return states_[static_cast<size_t>(state)];
}

size_t CombinedState::live() const {
  return Count(model::JobState::kConnecting) + Count(model::JobState::kPaused) +
         Count(model::JobState::kRunning) + Count(model::JobState::kPausing);
}

model::JobState CombinedState::State() const {
  using State = model::JobState;
  if (steps_.empty()) return State::kConnecting;
  if (live() == 0) {
    if (Count(State::kLost) > 0) return State::kLost;
    return Count(State::kTerminated) > 0 ? State::kTerminated
                                         : State::kFinished;
  }
  if (failed_ > 0 || Count(State::kPaused) == live()) return State::kPaused;
  if (Count(State::kPausing) > 0) return State::kPausing;
  return Count(State::kRunning) > 0 ? State::kRunning : State::kConnecting;
}

RunState CombinedState::Get() const {
  RunState job;
  job.state = State();
  if (!steps_.empty()) job.step = steps_.rbegin()->first;
  if (job.state != model::JobState::kPaused) return job;
  constexpr model::PauseReason kByWeight[kReasons] = {
      model::PauseReason::kNone,      model::PauseReason::kStart,
      model::PauseReason::kStep,      model::PauseReason::kUser,
      model::PauseReason::kNode,      model::PauseReason::kError,
      model::PauseReason::kWatchpoint};
  size_t weight = kReasons - 1;
  while (reasons_[weight].empty()) --weight;
  job.reason = kByWeight[weight];
  for (const auto& [watchpoint, ranks] : stopped_by_) {
    job.stopped_by.push_back(watchpoint);
  }
  return job;
}

uint32_t CombinedState::MostInformative() const {
  size_t weight = kReasons - 1;
  while (reasons_[weight].empty()) --weight;
  return *reasons_[weight].begin();
}

}  // namespace graphdbg::jobs
