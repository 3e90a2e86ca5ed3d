#include "server/rules/live_rules.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/runs/layout.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/jobs/run_state.h"
#include "server/rules/append_line.h"

namespace graphdbg::rules {

using model::LiveRule;

namespace {

// The step after the last one that the run has recorded; 0 if it has none.
jobs::Task<uint64_t> NextStep(jobs::RecordedRun& run) {
  CO_ASSIGN_OR_RETURN(const model::Run described,
                      co_await run.Describe(/*whole=*/false));
  co_return described.last_step == 0 ? 0 : described.last_step + 1;
}

}  // namespace

LiveRules::LiveRules(boost::asio::any_io_executor executor,
                     const ActionRunner& actions, Options options)
    : actions_(actions),
      options_(std::move(options)),
      strand_(std::move(executor)) {}

jobs::Task<std::vector<ListedRule>> LiveRules::Add(
    std::shared_ptr<jobs::RecordedRun> run, std::shared_ptr<jobs::Job> job,
    std::vector<LiveRule> rules) {
  CO_ASSIGN_OR_RETURN(const uint64_t next, co_await NextStep(*run));
  CO_ASSIGN_OR_RETURN(const std::string known, co_await run->Findings());
  std::vector<model::RuleSpec> specs;
  for (LiveRule& rule : rules) {
    if (!rule.act_from) rule.act_from = next;
    specs.push_back(rule.spec);
  }
  const auto set = std::make_shared<Set>();
  set->rules = std::move(rules);
  set->job = job;
  CO_RETURN_IF_ERROR(Reserve(run->id(), set));
  auto found = [weak = weak_from_this(),
                target = std::make_shared<Target>(
                    Target{run->id(), run->path(), job, KnownFindings(known)})](
                   const model::Finding& finding) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    boost::asio::co_spawn(self->strand_, self->React(target, finding),
                          boost::asio::detached);
  };
  auto followed = co_await run->Follow(std::move(specs), std::move(found));
  if (!followed.ok()) {
    Drop(run->id(), set);
    co_return followed.status();
  }
  {
    absl::MutexLock lock(&mu_);
    set->followed = *std::move(followed);
    if (job != nullptr) runs_of_jobs_[job->id()] = run->id();
  }
  co_await Keep(run->id(), job);
  co_return List(run->id());
}

jobs::StatusTask LiveRules::AddReported(std::shared_ptr<jobs::RecordedRun> run,
                                        std::shared_ptr<jobs::Job> job,
                                        std::vector<ReportedRule> rules) {
  CO_ASSIGN_OR_RETURN(const std::string known, co_await run->Findings());
  const auto set = std::make_shared<Set>();
  for (ReportedRule& each : rules) {
    ListedRule& listed = set->reported[each.rule.spec.name];
    listed.python_class = std::move(each.python_class);
    // A client reports from the first step on.
    if (!each.rule.act_from) each.rule.act_from = 0;
    set->rules.push_back(std::move(each.rule));
  }
  set->reports_to = std::make_shared<Target>(
      Target{run->id(), run->path(), job, KnownFindings(known)});
  set->job = std::move(job);
  CO_RETURN_IF_ERROR(Reserve(run->id(), set));
  if (set->job == nullptr) co_return absl::OkStatus();
  absl::MutexLock lock(&mu_);
  runs_of_jobs_[set->job->id()] = run->id();
  co_return absl::OkStatus();
}

LiveRules::Set* LiveRules::FindReported(const std::string& run,
                                        const std::string& rule) {
  const auto sets = sets_.find(run);
  if (sets == sets_.end()) return nullptr;
  for (const auto& set : sets->second) {
    if (set->reported.contains(rule)) return set.get();
  }
  return nullptr;
}

absl::Status LiveRules::CheckReported(
    const std::string& run, const std::vector<model::Finding>& findings,
    const std::vector<RuleProgress>& progress) {
  std::vector<std::string> rules;
  for (const model::Finding& each : findings) rules.push_back(each.rule);
  for (const RuleProgress& each : progress) rules.push_back(each.rule);
  for (const std::string& rule : rules) {
    if (FindReported(run, rule) != nullptr) continue;
    return Error(absl::StatusCode::kNotFound, "unknown_rule",
                 absl::StrCat("no client evaluates a rule '", rule, "'"));
  }
  return absl::OkStatus();
}

absl::Status LiveRules::Report(const std::string& run,
                               const std::vector<model::Finding>& findings,
                               const std::vector<RuleProgress>& progress) {
  std::vector<std::shared_ptr<Target>> targets;
  {
    absl::MutexLock lock(&mu_);
    RETURN_IF_ERROR(CheckReported(run, findings, progress));
    for (const model::Finding& each : findings) {
      Set* const set = FindReported(run, each.rule);
      ++set->reported[each.rule].state.report.findings;
      targets.push_back(set->reports_to);
    }
    for (const RuleProgress& each : progress) {
      model::LiveRuleState& state =
          FindReported(run, each.rule)->reported[each.rule].state;
      state.state = each.state;
      state.report.observations = each.observations;
      state.report.unknown = each.unknown;
      state.error = each.error;
    }
  }
  // Without the lock, which React takes.
  for (size_t i = 0; i < findings.size(); ++i) {
    boost::asio::co_spawn(strand_, React(targets[i], findings[i]),
                          boost::asio::detached);
  }
  return absl::OkStatus();
}

boost::asio::awaitable<void> LiveRules::Keep(std::string run,
                                             std::shared_ptr<jobs::Job> job) {
  if (job == nullptr) co_return;
  std::vector<LiveRule> rules;
  for (ListedRule& each : List(run)) {
    if (!each.python_class.empty()) continue;
    rules.push_back(std::move(each.state.rule));
  }
  model::KeptRules keeping;
  if (!rules.empty()) keeping.run = run;
  keeping.json = options_.encode_rules(rules);
  const absl::Status kept = co_await job->KeepRules(std::move(keeping));
  if (kept.ok()) co_return;
  options_.log(absl::StrCat("warning: job ", job->id(),
                            ": its rules will be lost when the server ends: ",
                            std::string(kept.message())));
}

void LiveRules::Restore(const jobs::Directory& directory,
                        jobs::RunDirectory& runs) {
  for (const auto& job : directory.Jobs()) {
    if (jobs::IsEnded(job->LastKnown()->state)) continue;
    boost::asio::co_spawn(strand_, RestoreOne(job, runs),
                          boost::asio::detached);
  }
}

boost::asio::awaitable<void> LiveRules::RestoreOne(
    std::shared_ptr<jobs::Job> job, jobs::RunDirectory& runs) {
  const auto self = shared_from_this();
  const absl::Status added = co_await AddKept(job, runs);
  if (added.ok()) co_return;
  options_.log(absl::StrCat("warning: job ", job->id(),
                            ": its rules are not evaluated any more: ",
                            std::string(added.message())));
}

jobs::StatusTask LiveRules::AddKept(std::shared_ptr<jobs::Job> job,
                                    jobs::RunDirectory& runs) {
  CO_ASSIGN_OR_RETURN(const model::KeptRules kept, co_await job->Rules());
  if (kept.run.empty()) co_return absl::OkStatus();
  CO_ASSIGN_OR_RETURN(std::vector<LiveRule> rules,
                      options_.decode_rules(kept.json));
  CO_ASSIGN_OR_RETURN(auto run, co_await runs.Find(kept.run));
  const auto added = co_await Add(std::move(run), job, std::move(rules));
  co_return added.status();
}

const LiveRule* LiveRules::FindRule(
    const std::vector<std::shared_ptr<Set>>& sets, const std::string& name) {
  for (const auto& set : sets) {
    for (const LiveRule& rule : set->rules) {
      if (rule.spec.name == name) return &rule;
    }
  }
  return nullptr;
}

absl::Status LiveRules::Reserve(const std::string& run,
                                std::shared_ptr<Set> set) {
  absl::MutexLock lock(&mu_);
  const auto known = sets_.find(run);
  const auto sets = known == sets_.end() ? std::vector<std::shared_ptr<Set>>()
                                         : known->second;
  size_t count = set->rules.size();
  for (const auto& each : sets) count += each->rules.size();
  if (count > kMaxRules) {
    return Error(absl::StatusCode::kResourceExhausted, "too_many_rules",
                 absl::StrCat("a run has at most ", kMaxRules, " rules"));
  }
  for (size_t i = 0; i < set->rules.size(); ++i) {
    const std::string& name = set->rules[i].spec.name;
    const auto is_same = [&name](const LiveRule& rule) {
      return rule.spec.name == name;
    };
    const auto end = set->rules.begin() + static_cast<std::ptrdiff_t>(i);
    if (FindRule(sets, name) != nullptr ||
        std::any_of(set->rules.begin(), end, is_same)) {
      return WithField(
          Error(absl::StatusCode::kAlreadyExists, "rule_exists",
                absl::StrCat("there is a rule '", name, "' already")),
          absl::StrCat("rules[", i, "].name"));
    }
  }
  sets_[run].push_back(std::move(set));
  return absl::OkStatus();
}

void LiveRules::Drop(const std::string& run, const std::shared_ptr<Set>& set) {
  absl::MutexLock lock(&mu_);
  const auto sets = sets_.find(run);
  if (sets == sets_.end()) return;
  std::erase(sets->second, set);
  if (sets->second.empty()) sets_.erase(sets);
}

std::vector<ListedRule> LiveRules::List(const std::string& run) const {
  absl::MutexLock lock(&mu_);
  std::vector<ListedRule> all;
  const auto sets = sets_.find(run);
  if (sets == sets_.end()) return all;
  for (const auto& set : sets->second) {
    for (ListedRule& each : StatesOf(*set)) all.push_back(std::move(each));
  }
  return all;
}

std::vector<ListedRule> LiveRules::StatesOf(const Set& set) {
  std::vector<ListedRule> states;
  if (set.reports_to != nullptr) {
    for (const LiveRule& rule : set.rules) {
      states.push_back(set.reported.at(rule.spec.name));
      states.back().state.rule = rule;
    }
    return states;
  }
  if (set.followed == nullptr) return states;
  const model::CheckReport report = set.followed->Report();
  for (const LiveRule& rule : set.rules) {
    ListedRule listed{{rule, report.state, {}, report.error}, {}};
    for (const model::RuleReport& each : report.rules) {
      if (each.rule == rule.spec.name) listed.state.report = each;
    }
    states.push_back(std::move(listed));
  }
  return states;
}

jobs::StatusTask LiveRules::Remove(std::string run, std::string rule) {
  CO_ASSIGN_OR_RETURN(std::shared_ptr<jobs::Job> job, Take(run, rule));
  co_await Keep(std::move(run), std::move(job));
  co_return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<jobs::Job>> LiveRules::Take(
    const std::string& run, const std::string& rule) {
  absl::MutexLock lock(&mu_);
  const auto sets = sets_.find(run);
  if (sets != sets_.end()) {
    for (auto set = sets->second.begin(); set != sets->second.end(); ++set) {
      const size_t erased = std::erase_if(
          (*set)->rules,
          [&rule](const LiveRule& each) { return each.spec.name == rule; });
      if (erased == 0) continue;
      (*set)->reported.erase(rule);
      std::shared_ptr<jobs::Job> job = (*set)->job;
      // The last one ends the evaluation.
      if ((*set)->rules.empty()) sets->second.erase(set);
      if (sets->second.empty()) sets_.erase(sets);
      return job;
    }
  }
  return Error(absl::StatusCode::kNotFound, "unknown_rule",
               absl::StrCat("there is no rule '", rule, "'"));
}

std::string LiveRules::RunOf(const std::string& job) const {
  absl::MutexLock lock(&mu_);
  const auto found = runs_of_jobs_.find(job);
  return found == runs_of_jobs_.end() ? "" : found->second;
}

std::map<std::string, uint64_t> LiveRules::finding_counts() const {
  absl::MutexLock lock(&mu_);
  return finding_counts_;
}

void LiveRules::Count(const model::RuleSpec& rule) {
  const std::string& name = rule.base.empty() ? rule.name : rule.base;
  absl::MutexLock lock(&mu_);
  const bool fits =
      finding_counts_.size() < kMaxCounted || finding_counts_.count(name) > 0;
  ++finding_counts_[fits ? name : "other"];
}

std::optional<LiveRule> LiveRules::RuleOf(const std::string& run,
                                          const std::string& rule) const {
  absl::MutexLock lock(&mu_);
  const auto sets = sets_.find(run);
  if (sets == sets_.end()) return std::nullopt;
  const LiveRule* const found = FindRule(sets->second, rule);
  if (found == nullptr) return std::nullopt;
  return *found;
}

boost::asio::awaitable<void> LiveRules::React(std::shared_ptr<Target> target,
                                              model::Finding finding) {
  const auto self = shared_from_this();
  if (target->known.Take(finding)) co_return;
  const auto rule = RuleOf(target->run, finding.rule);
  if (!rule) co_return;
  Count(rule->spec);
  if (finding.advice == nullptr) finding.advice = rule->spec.advice;
  const absl::Status written =
      AppendLine(target->path + "/" + runs::kFindingsFile,
                 options_.encode(finding), runs::kMaxFindingsBytes);
  if (!written.ok()) {
    options_.log(
        absl::StrCat("warning: a finding of rule '", finding.rule,
                     "' is not kept: ", std::string(written.message())));
  }
  if (target->job == nullptr) co_return;
  // The job may have been removed meanwhile.
  (co_await target->job->PublishFinding(finding)).IgnoreError();
  if (finding.step < rule->act_from.value_or(0)) co_return;
  Trigger trigger{absl::StrCat("rule '", finding.rule, "'"),
                  finding.rank.value_or(0), finding.step, finding.message,
                  finding.tensor.substr(0, finding.tensor.rfind(':'))};
  co_await actions_.Run(rule->actions, target->job, std::move(trigger));
}

}  // namespace graphdbg::rules
