#include "agent/core/node_interest.h"

#include <memory>

#include "agent/core/recorder.h"
#include "agent/core/recorder_switch.h"

namespace graphdbg::agent {
namespace {

// The steps in which faults that are there from the start are found.
constexpr uint64_t kStepsWithFindings = 10;

}  // namespace

int NodeInterest::Update() {
  MutexLock lock(&mu_);
  const Gate::Needs needs = parts_.gate->needs();
  const std::shared_ptr<const WatchSnapshot> watch = parts_.watch->snapshot();
  UpdateAwaitedNode(needs.awaited_node);
  ExpireRequests(needs);

  using Mode = ValueKeeper::Mode;
  ValueKeeper::Demand demand;
  demand.catching = !parts_.requested->to_catch().empty();
  demand.previous = watch->needs_previous();
  if (needs.tensors || watch->pauses()) {
    demand.mode = partial_memory_ ? Mode::kWatched : Mode::kEverything;
  }

  uint8_t flags = kNeverExecuted | kWatched | kAwaited | kRequested;
  if (needs.every_node || demand.mode == Mode::kEverything || follows_all_) {
    flags |= kAnyNode;
  }
  if (demand.mode == Mode::kWatched || demand.catching) flags |= kWrites;
  if (watch->matches_infinities()) flags |= kExplicitNonFinite;
  demand.sees_writes =
      (flags & (kAnyNode | kWrites)) != 0 || watch->covers_all();

  const std::shared_ptr<Recorder> recorder = parts_.recorders->current();
  const bool records = recorder != nullptr && recorder->due();
  if (records) flags |= kRecorded;
  const bool everything = records && recorder->everything();
  if (everything) flags |= kAnyNode;

  uint8_t required = kWatched | kAwaited | kRequested;
  // The overview measures what runs anyway: it splits no loop into its ops.
  if (records && recorder->has_files()) required |= kRecorded;
  const bool stepping = needs.tensors && demand.mode == Mode::kEverything;
  if (needs.every_node || stepping) required |= kAnyNode;

  const bool asked = needs.every_node || needs.tensors || needs.new_nodes ||
                     needs.awaited_node != 0 || demand.catching;
  const bool nonfinite = watch->tests_values() && watch->only_nonfinite();
  only_nonfinite_ = nonfinite && !asked && !records;
  only_recorded_ = records && !asked && (nonfinite || !watch->tests_values());
  required_flags_ = required;
  parts_.values->SetDemand(demand);
  every_node_stops_ = needs.every_node;
  const bool begun = steps_ended_ >= kStepsWithFindings && !follows_all_;
  settled_ = begun && recorder == nullptr && !demand.catching;
  // Conditions that the program reports leave nothing to do by themselves.
  unasked_by_users_ = begun && !asked && !watch->tests_values() && !off_ &&
                      (recorder == nullptr || !recorder->has_files());
  unasked_ = unasked_by_users_ && recorder == nullptr;
  records_ = records;
  records_everything_ = everything;
  if (!unasked_by_users_) calm_ = false;
  if (!unasked_) idle_ = false;
  flags_ = off_ ? 0 : flags;
  // The graph is learned in the first step. Findings of the program itself name
  // the ops that produced its tensors, most of them in the first few.
  const uint64_t learned = watch->has_reported() ? kStepsWithFindings : 1;
  const bool ops =
      steps_ended_ < learned || watch->tests_values() || asked || records;
  return ops ? GRAPHDBG_LEVEL_OPS : GRAPHDBG_LEVEL_STEPS;
}

void NodeInterest::FinishStep() {
  MutexLock lock(&mu_);
  idle_ = unasked_;
  calm_ = unasked_by_users_;
}

void NodeInterest::UnfinishStep() {
  MutexLock lock(&mu_);
  idle_ = false;
  calm_ = false;
}

bool NodeInterest::Knows(const Recorder& recorder) const {
  return records_ == recorder.due() &&
         records_everything_ == recorder.everything();
}

void NodeInterest::UpdateAwaitedNode(uint32_t node) {
  if (node == awaited_node_) return;
  if (NodeFacts* old = parts_.nodes->Facts(awaited_node_)) {
    old->Set(kAwaited, false);
  }
  if (NodeFacts* next = parts_.nodes->Facts(node)) {
    next->Set(kAwaited, true);
  }
  awaited_node_ = node;
}

void NodeInterest::ExpireRequests(const Gate::Needs& needs) {
  if (needs.paused || needs.pauses == resumed_pause_) return;
  resumed_pause_ = needs.pauses;
  parts_.requested->Resume(needs.pauses, [this](uint32_t node) {
    return parts_.values->kept().HasAnyOf(node);
  });
}

}  // namespace graphdbg::agent
