// Evaluates rules over a recorded run, in the background.
#ifndef SERVER_RUNS_RULE_CHECK_H_
#define SERVER_RUNS_RULE_CHECK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
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

// A check of rules.
class RuleCheck final : public BackgroundCheck {
 public:
  // More findings of a rule are only counted.
  static constexpr uint64_t kMaxFindings = 1'000;
  // The check fails beyond this many numbers in the states of all series: 256
  // MiB.
  static constexpr uint64_t kMaxStates = uint64_t{32} << 20;

  // INVALID_ARGUMENT names the field: "rules[2].when".
  static absl::StatusOr<std::shared_ptr<RuleCheck>> Compile(
      const std::vector<model::RuleSpec>& specs);

  const std::vector<Rule>& rules() const { return rules_; }
  // Whether the ranks must be walked together, because a series of some rule
  // comprises several.
  bool joins_ranks() const;

  // Called before Start. `found` is called with each finding, by the thread
  // that evaluates.
  void OnFinding(std::function<void(const model::Finding&)> found) {
    on_finding_ = std::move(found);
  }
  // Called before Start. The task calls StepDone `steps` times.
  void AddTask(uint64_t steps, std::function<void(RuleCheck&)> task);
  model::CheckReport Report() const override ABSL_LOCKS_EXCLUDED(mu_);

  // --- For tasks ------------------------------------------------------------
  void AddFinding(size_t rule, model::Finding finding) ABSL_LOCKS_EXCLUDED(mu_);
  // Accounts for a new series. Returns false if there are too many.
  bool AddSeries(size_t rule);
  void AddObservations(size_t rule, uint64_t count, uint64_t unknown)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  explicit RuleCheck(std::vector<Rule> rules);

  const std::vector<Rule> rules_;
  std::function<void(const model::Finding&)> on_finding_;
  std::atomic<uint64_t> states_{0};

  mutable absl::Mutex mu_;
  // Each finding is stored with the place of its rule.
  std::vector<std::pair<size_t, model::Finding>> findings_ ABSL_GUARDED_BY(mu_);
  std::vector<model::RuleReport> reports_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_RULE_CHECK_H_
