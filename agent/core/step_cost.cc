#include "agent/core/step_cost.h"

#include <algorithm>

namespace graphdbg::agent {
namespace {

// What following an op costs at least, by measurements of small PyTorch ops.
constexpr StepCost::Nanoseconds kCostOfOp(2'000);
// And at most, by far.
constexpr StepCost::Nanoseconds kMostOfOp(20'000);
constexpr size_t kStepsToCompare = 8;

}  // namespace

void StepCost::AddStep(bool recorded, Nanoseconds duration) {
  Durations& kind = recorded          ? recorded_
                    : after_recorded_ ? followers_
                                      : others_;
  kind.Add(duration);
  after_recorded_ = recorded;
}

std::optional<StepCost::Nanoseconds> StepCost::Base() const {
  const auto other = others_.Typical();
  // With a high limit, every second step is recorded.
  return other ? other : followers_.Typical();
}

StepCost::Nanoseconds StepCost::Of(Nanoseconds measuring, uint64_t ops) const {
  const auto recorded = recorded_.Typical();
  const auto base = Base();
  const auto count = static_cast<int64_t>(ops);
  if (!recorded || !base) return measuring + kCostOfOp * count;
  const Nanoseconds later = followers_.Typical().value_or(*base) - *base;
  return std::clamp(*recorded - *base + std::max(later, Nanoseconds(0)),
                    measuring, measuring + kMostOfOp * count);
}

void StepCost::Durations::Add(Nanoseconds duration) {
  last_[count_++ % kSteps] = duration;
}

std::optional<StepCost::Nanoseconds> StepCost::Durations::Typical() const {
  if (count_ < kStepsToCompare) return std::nullopt;
  std::array<Nanoseconds, kSteps> sorted = last_;
  const size_t size = std::min(count_, kSteps);
  const auto quartile = sorted.begin() + static_cast<ptrdiff_t>(size / 4);
  std::nth_element(sorted.begin(), quartile,
                   sorted.begin() + static_cast<ptrdiff_t>(size));
  return *quartile;
}

}  // namespace graphdbg::agent
