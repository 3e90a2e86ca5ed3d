#include "agent/core/record_schedule.h"

#include <algorithm>

namespace graphdbg::agent {
namespace {

// How much unused time accumulates for a burst of steps, as for
// StatisticsRecorder: a program that waits between bursts must not spend in
// them what it saved while it did nothing.
constexpr std::chrono::milliseconds kTimeSaved(100);

// How long the overview waits after a step that had nothing to record, such as
// the rounds of a booster that nobody looks at.
constexpr std::chrono::milliseconds kLookAgain(100);

// The time to note an op in the file of last ops, which every step does, as
// measured with small PyTorch ops.
constexpr double kNanosecondsOfNote = 100;

// The share of the time that recorded steps may take: the ops of all steps are
// noted, which is within the limit, too. A part is left in any case, so that
// something is recorded.
double ShareOfRecorded(const RecordSettings& settings,
                       const RecordSchedule::EndedStep& step,
                       std::chrono::nanoseconds cost) {
  const auto rest = static_cast<double>((step.duration - cost).count());
  // The overview has no files.
  if (settings.directory.empty() || rest <= 0) return settings.overhead;
  const double noting =
      kNanosecondsOfNote * static_cast<double>(step.ops) / rest;
  constexpr double kLeast = 0.25;
  return std::max(settings.overhead - noting, kLeast * settings.overhead);
}

}  // namespace

RecordSchedule::RecordSchedule(const RecordSettings* settings)
    : settings_(settings) {
  CollectionMask bit = 1;
  for (const CollectionSettings& collection : settings_->collections) {
    auto& by_mode = schedules_.emplace_back();
    for (int mode = 0; mode < runs::kModes; ++mode) {
      by_mode[static_cast<size_t>(mode)] = EffectiveSchedule(
          collection.save, settings_->save, static_cast<runs::Mode>(mode));
    }
    if (collection.level >= RecordLevel::kStatistics) full_ |= bit;
    if (collection.digest) digests_ |= bit;
    if (collection.change) changes_ |= bit;
    if (collection.units) units_ |= bit;
    if (collection.level == RecordLevel::kTensors) tensors_ |= bit;
    bit <<= 1;
  }
}

RecordSchedule::Plan RecordSchedule::For(runs::Mode mode, uint64_t mode_step,
                                         uint64_t step) const {
  Plan plan;
  for (size_t i = 0; i < schedules_.size(); ++i) {
    const bool due = settings_->collections[i].level != RecordLevel::kOff &&
                     schedules_[i][static_cast<size_t>(mode)].IsDue(mode_step);
    if (due) plan.due |= CollectionMask{1} << i;
  }
  for (const auto& [collections, through] : boosts_) {
    if (step <= through) plan.boosted |= collections;
  }
  plan.everything = step <= everything_through_;
  const bool left_out = !plan.everything && (over_limit_ || looks_later_);
  const bool any = plan.everything || plan.boosted != 0;
  if (!any && (plan.due == 0 || left_out)) {
    plan.reason = plan.due == 0 || !over_limit_ ? runs::EndReason::kNotDue
                                                : runs::EndReason::kOverhead;
  }
  if (left_out) plan.due = 0;
  plan.due |= plan.boosted;
  return plan;
}

std::chrono::nanoseconds RecordSchedule::EndStep(const EndedStep& step,
                                                 Clock::time_point now) {
  if (settings_->overhead <= 0) return step.measuring;
  const bool recorded = step.reason == runs::EndReason::kNone;
  if (IsUsual(step.number)) cost_.AddStep(recorded, step.duration);
  const std::chrono::nanoseconds cost =
      recorded ? cost_.Of(step.measuring, step.ops) : step.measuring;
  next_to_measure_ = std::max(next_to_measure_, now - kTimeSaved) +
                     std::chrono::duration_cast<Clock::duration>(
                         cost / ShareOfRecorded(*settings_, step, cost));
  over_limit_ = now < next_to_measure_;
  if (recorded && step.in_vain && settings_->directory.empty()) {
    next_look_ = now + kLookAgain;
  }
  looks_later_ = now < next_look_;
  return cost;
}

bool RecordSchedule::IsUsual(uint64_t step) const {
  return step > everything_through_ &&
         std::none_of(boosts_.begin(), boosts_.end(),
                      [step](const auto& each) { return step <= each.second; });
}

void RecordSchedule::Boost(CollectionMask collections, uint64_t through) {
  uint64_t& last = boosts_[collections];
  last = std::max(last, through);
}

uint64_t RecordSchedule::Hit(uint64_t step) {
  if (hit_step_ != 0 && step < hit_step_ + settings_->hit_pause) return 0;
  hit_step_ = std::max<uint64_t>(step, 1);
  everything_through_ = step + settings_->after_hit;
  return everything_through_;
}

}  // namespace graphdbg::agent
