#include "server/runs/rule_check.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/runs/new_steps.h"
#include "server/runs/run_source.h"

namespace graphdbg::recorded {
namespace {

// The memory that a series takes besides its windows, in numbers of 8 bytes.
constexpr uint64_t kSeriesOverhead = 16;

absl::Status NoRules() {
  return Error(absl::StatusCode::kUnimplemented, "no_rules",
               "rules are evaluated over recordings of graphdbg only");
}

}  // namespace

absl::StatusOr<std::shared_ptr<RuleCheck>> RunSource::PrepareRules(
    const model::CheckSpec&) {
  return NoRules();
}

absl::StatusOr<NewSteps> RunSource::TakeNewSteps(
    const std::vector<model::RuleSpec>&, bool, FollowedSteps*) {
  return NoRules();
}

RuleCheck::RuleCheck(std::vector<Rule> rules) : rules_(std::move(rules)) {
  for (const Rule& rule : rules_) {
    model::RuleReport report;
    report.rule = rule.spec().name;
    reports_.push_back(std::move(report));
  }
}

absl::StatusOr<std::shared_ptr<RuleCheck>> RuleCheck::Compile(
    const std::vector<model::RuleSpec>& specs) {
  std::vector<Rule> rules;
  for (const model::RuleSpec& spec : specs) {
    auto rule = Rule::Compile(spec);
    if (!rule.ok()) {
      return WithField(rule.status(), absl::StrCat("rules[", rules.size(), "].",
                                                   FieldOf(rule.status())));
    }
    rules.push_back(*std::move(rule));
  }
  return std::shared_ptr<RuleCheck>(new RuleCheck(std::move(rules)));
}

bool RuleCheck::joins_ranks() const {
  return std::any_of(rules_.begin(), rules_.end(), [](const Rule& rule) {
    return !rule.distinguishes(model::SeriesPart::kRank);
  });
}

void RuleCheck::AddTask(uint64_t steps, std::function<void(RuleCheck&)> task) {
  Add(steps, [this, task = std::move(task)] { task(*this); });
}

void RuleCheck::AddFinding(size_t rule, model::Finding finding) {
  if (on_finding_) on_finding_(finding);
  absl::MutexLock lock(&mu_);
  if (++reports_[rule].findings <= kMaxFindings) {
    findings_.emplace_back(rule, std::move(finding));
  }
}

bool RuleCheck::AddSeries(size_t rule) {
  const uint64_t size = kSeriesOverhead + rules_[rule].state_size();
  if (states_.fetch_add(size) + size <= kMaxStates) return true;
  Fail(absl::StrCat("the rules look at too many series: rule '",
                    rules_[rule].spec().name,
                    "' and those before it need more than ",
                    kMaxStates * sizeof(double) >> 20, " MiB for windows"));
  return false;
}

void RuleCheck::AddObservations(size_t rule, uint64_t count, uint64_t unknown) {
  absl::MutexLock lock(&mu_);
  reports_[rule].observations += count;
  reports_[rule].unknown += unknown;
}

model::CheckReport RuleCheck::Report() const {
  model::CheckReport report = Progress();
  absl::MutexLock lock(&mu_);
  auto found = findings_;
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.step, a.first, a.second.rank, a.second.tensor,
                    a.second.mode) < std::tie(b.second.step, b.first,
                                              b.second.rank, b.second.tensor,
                                              b.second.mode);
  });
  for (auto& [rule, finding] : found) {
    report.findings.push_back(std::move(finding));
  }
  report.rules = reports_;
  return report;
}

}  // namespace graphdbg::recorded
