// Evaluates rules over a recorded run, in the background.
#ifndef SERVER_RUNS_RULE_CHECK_H_
#define SERVER_RUNS_RULE_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/model/run.h"
#include "server/runs/background_check.h"
#include "server/runs/rule.h"

namespace graphdbg::recorded {

// See BackgroundCheck.
class RuleCheck final : public BackgroundCheck {
 public:
  // More findings of a rule are only counted.
  static constexpr uint64_t kMaxFindings = 1'000;

  // INVALID_ARGUMENT names the field: "rules[2].when".
  static absl::StatusOr<std::shared_ptr<RuleCheck>> Compile(
      const std::vector<model::RuleSpec>& specs);

  const std::vector<Rule>& rules() const { return rules_; }
  // Whether the ranks must be walked together, because a series of some rule
  // comprises several.
  bool joins_ranks() const;

  // Before Start. The task calls StepDone `steps` times.
  void AddTask(uint64_t steps, std::function<void(RuleCheck&)> task);
  model::CheckReport Report() const override ABSL_LOCKS_EXCLUDED(mu_);

  // --- For tasks ------------------------------------------------------------
  void AddFinding(size_t rule, model::Finding finding) ABSL_LOCKS_EXCLUDED(mu_);
  void AddObservations(size_t rule, uint64_t count, uint64_t unknown)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  explicit RuleCheck(std::vector<Rule> rules);

  const std::vector<Rule> rules_;

  mutable absl::Mutex mu_;
  // With the places of their rules.
  std::vector<std::pair<size_t, model::Finding>> findings_ ABSL_GUARDED_BY(mu_);
  std::vector<model::RuleReport> reports_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_RULE_CHECK_H_
