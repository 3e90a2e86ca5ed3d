// Evaluates rules over a run as it grows.
#ifndef SERVER_RUNS_RULE_FOLLOWER_H_
#define SERVER_RUNS_RULE_FOLLOWER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/jobs/runs.h"
#include "server/runs/new_steps.h"
#include "server/runs/rule_check.h"
#include "server/runs/rule_task.h"
#include "server/runs/run_source.h"

namespace graphdbg::recorded {

class RuleFollower {
 public:
  // INVALID_ARGUMENT names the field: "rules[2].when".
  static absl::StatusOr<std::shared_ptr<RuleFollower>> Compile(
      std::vector<model::RuleSpec> rules, jobs::FindingSink found);

  // --- By turns, on whatever threads.
  // The steps of `source` to evaluate next.
  absl::StatusOr<NewSteps> Take(RunSource& source);
  void Evaluate(const NewSteps& steps);

  // --- Any thread.
  // The run has ended, and all of it was evaluated. Reverted if it grows again.
  void SetDone(bool done) { done_ = done; }
  // The rules cannot be evaluated any more.
  void Fail(const absl::Status& status);
  void Cancel() { check_->Cancel(); }
  bool cancelled() const { return check_->cancelled(); }
  model::CheckReport Report() const;

 private:
  RuleFollower(std::vector<model::RuleSpec> rules,
               std::shared_ptr<RuleCheck> check)
      : rules_(std::move(rules)), check_(std::move(check)) {}

  const std::vector<model::RuleSpec> rules_;
  const std::shared_ptr<RuleCheck> check_;
  std::atomic<bool> done_{false};
  FollowedSteps followed_;
  // By rank; a single one if the rules compare ranks.
  std::map<uint32_t, RuleTask> tasks_;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_RULE_FOLLOWER_H_
