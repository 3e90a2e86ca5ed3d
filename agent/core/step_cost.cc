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
  if (recorded) {
    recorded_.Add(duration);
    since_recorded_ = 0;
  } else if (since_recorded_ < kFollowers) {
    followers_[since_recorded_++].Add(duration);
  } else {
    others_.Add(duration);
  }
}

std::optional<StepCost::Nanoseconds> StepCost::Base() const {
  std::optional<Nanoseconds> base = others_.Typical();
  // With a high limit, all steps are soon followed by a recorded one.
  for (size_t i = kFollowers; i-- > 0 && !base;) {
    base = followers_[i].Typical();
  }
  return base;
}

StepCost::Nanoseconds StepCost::Of(Nanoseconds measuring, uint64_t ops) const {
  const auto recorded = recorded_.Typical();
  const auto base = Base();
  const auto count = static_cast<int64_t>(ops);
  if (!recorded || !base) return measuring + kCostOfOp * count;
  Nanoseconds cost = *recorded - *base;
  for (const Durations& each : followers_) {
    cost += std::max(each.Typical().value_or(*base) - *base, Nanoseconds(0));
  }
  return std::clamp(cost, measuring, measuring + kMostOfOp * count);
}

void StepCost::Durations::Add(Nanoseconds duration) {
  last_[count_++ % kSteps] = duration;
}

std::optional<StepCost::Nanoseconds> StepCost::Durations::Typical() const {
  if (count_ < kStepsToCompare) return std::nullopt;
  std::array<Nanoseconds, kSteps> sorted = last_;
  const size_t size = std::min(count_, kSteps);
  const auto median = sorted.begin() + static_cast<ptrdiff_t>(size / 2);
  std::nth_element(sorted.begin(), median,
                   sorted.begin() + static_cast<ptrdiff_t>(size));
  return *median;
}

}  // namespace graphdbg::agent
