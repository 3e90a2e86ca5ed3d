#include "server/jobs/state_publisher.h"

#include <utility>
#include <vector>

#include "server/jobs/job_description.h"

namespace graphdbg::jobs {
namespace {

// The rank runs as before, and is further on.
bool IsProgress(const JobStateMachine::Change& change) {
  const model::JobState state = change.rank.run.state;
  return state == change.rank_before && (state == model::JobState::kRunning ||
                                         state == model::JobState::kPausing);
}

bool OnlyStepDiffers(RunState a, const RunState& b) {
  a.step = b.step;
  return a == b;
}

}  // namespace

StatePublisher::StatePublisher(const JobStateMachine& machine,
                               JobRecorder& recorder, JobEvents& events,
                               TaskRunner& tasks,
                               std::function<int64_t()> now_unix_nano,
                               std::function<bool()> are_together)
    : machine_(machine),
      recorder_(recorder),
      events_(events),
      tasks_(tasks),
      now_unix_nano_(std::move(now_unix_nano)),
      are_together_(std::move(are_together)) {}

void StatePublisher::OnChange(const JobStateMachine::Change& change) {
  const uint32_t rank = change.rank.hello.rank;
  const bool progress = IsProgress(change);
  const bool few = HasFewRanks(machine_);
  if (progress && !few) {
    RecordLater(rank);
  } else {
    Record(change.rank);
  }
  unpublished_.insert(rank);
  awaits_ranks_ = HasJustPaused();
  if (awaits_ranks_) return AwaitRanks();
  const bool at_once =
      !OnlyStepDiffers(published_, machine_.job()) || (few && !progress);
  if (at_once) return Publish();
  if (publish_timer_ != nullptr) return;
  // The first step of an interval.
  if (few) Publish();
  PublishLater();
}

bool StatePublisher::HasJustPaused() const {
  return machine_.job().state == model::JobState::kPaused &&
         published_.state != model::JobState::kPaused &&
         machine_.has_several_ranks();
}

void StatePublisher::AwaitRanks() {
  // In case that nothing is to be synchronized. Not before: the timer that runs
  // may be about to fire.
  publish_timer_.reset();
  PublishLater();
}

void StatePublisher::OnSynchronized() {
  if (awaits_ranks_ && are_together_()) Publish();
}

void StatePublisher::Publish() {
  awaits_ranks_ = false;
  published_ = machine_.job();
  const std::set<uint32_t> changed = std::exchange(unpublished_, {});
  events_.PublishStates({changed.begin(), changed.end()});
}

void StatePublisher::PublishLater() {
  publish_timer_ = tasks_.RunAfter(kInterval, [this] {
    publish_timer_.reset();
    if (unpublished_.empty()) return;
    if (!awaits_ranks_ || are_together_()) Publish();
    PublishLater();
  });
}

void StatePublisher::Record(const Rank& rank) {
  unrecorded_.erase(rank.hello.rank);
  JobJournal* const journal = recorder_.journal();
  if (journal == nullptr) return;
  journal->RecordState(rank.hello.rank, rank.run,
                       rank.exit_report ? &*rank.exit_report : nullptr,
                       now_unix_nano_());
}

void StatePublisher::RecordLater(uint32_t rank) {
  unrecorded_.insert(rank);
  if (record_timer_ != nullptr) return;
  record_timer_ = tasks_.RunAfter(kRecordInterval, [this] {
    record_timer_.reset();
    for (uint32_t number : std::exchange(unrecorded_, {})) {
      Record(*machine_.Find(number));
    }
  });
}

}  // namespace graphdbg::jobs
