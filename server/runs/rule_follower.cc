#include "server/runs/rule_follower.h"

#include <string>
#include <utility>

#include "proto/wire/status_macros.h"

namespace graphdbg::recorded {

absl::StatusOr<std::shared_ptr<RuleFollower>> RuleFollower::Compile(
    std::vector<model::RuleSpec> rules, jobs::FindingSink found) {
  ASSIGN_OR_RETURN(auto check, RuleCheck::Compile(rules));
  check->OnFinding(std::move(found));
  return std::shared_ptr<RuleFollower>(
      new RuleFollower(std::move(rules), std::move(check)));
}

absl::StatusOr<NewSteps> RuleFollower::Take(RunSource& source) {
  return source.TakeNewSteps(rules_, check_->joins_ranks(), &followed_);
}

void RuleFollower::Evaluate(const NewSteps& steps) {
  if (check_->joins_ranks()) {
    tasks_.try_emplace(0, *check_)
        .first->second.Run(steps.ranks, steps.tensors);
    return;
  }
  for (const RuleRank& rank : steps.ranks) {
    tasks_.try_emplace(rank.rank, *check_)
        .first->second.Run({rank}, steps.tensors);
  }
}

void RuleFollower::Fail(const absl::Status& status) {
  check_->Fail(std::string(status.message()));
}

model::CheckReport RuleFollower::Report() const {
  const bool done = done_;
  model::CheckReport report = check_->Report();
  if (report.state == model::CheckState::kDone && !done) {
    report.state = model::CheckState::kRunning;
  }
  return report;
}

}  // namespace graphdbg::recorded
