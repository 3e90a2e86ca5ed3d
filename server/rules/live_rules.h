// Rules that are evaluated while jobs run, over what the jobs record.
#ifndef SERVER_RULES_LIVE_RULES_H_
#define SERVER_RULES_LIVE_RULES_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/strand.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/interfaces.h"
#include "server/jobs/runs.h"
#include "server/model/rules.h"
#include "server/model/run.h"
#include "server/rules/reported_rule.h"

namespace graphdbg::rules {

// Thread-safe. Findings are appended to findings.jsonl in the run's directory,
// published as events of the job, and answered with the rule's actions.
class LiveRules : public std::enable_shared_from_this<LiveRules> {
 public:
  // More rules of a run are refused.
  static constexpr size_t kMaxRules = 64;

  struct Options {
    // A finding as a line of findings.jsonl, without its end.
    std::function<std::string(const model::Finding&)> encode;
    // A line for the user. Any thread.
    std::function<void(std::string_view)> log;
  };

  // `executor` writes the findings and sends the commands.
  LiveRules(boost::asio::any_io_executor executor, Options options);

  // Evaluates the rules over what `run` has recorded and will record. `job` is
  // the job that records; without one, actions have no effect. ALREADY_EXISTS
  // "rule_exists"; RESOURCE_EXHAUSTED "too_many_rules"; INVALID_ARGUMENT names
  // the field, such as "rules[2].when".
  jobs::Task<std::vector<ListedRule>> Add(
      std::shared_ptr<jobs::RecordedRun> run, std::shared_ptr<jobs::Job> job,
      std::vector<model::LiveRule> rules);
  // Adds rules about which a client will report. Errors as for Add.
  absl::Status AddReported(const jobs::RecordedRun& run,
                           std::shared_ptr<jobs::Job> job,
                           std::vector<ReportedRule> rules)
      ABSL_LOCKS_EXCLUDED(mu_);
  // What a client has found, and how far its rules are. NOT_FOUND
  // "unknown_rule" if one of them is not such a rule; then nothing is taken.
  absl::Status Report(const std::string& run,
                      const std::vector<model::Finding>& findings,
                      const std::vector<RuleProgress>& progress)
      ABSL_LOCKS_EXCLUDED(mu_);
  // The rules of a run, in the order in which they were added.
  std::vector<ListedRule> List(const std::string& run) const
      ABSL_LOCKS_EXCLUDED(mu_);
  // The rule's actions; absent if there is no such rule.
  std::optional<std::vector<model::RuleAction>> ActionsOf(
      const std::string& run, const std::string& rule) const
      ABSL_LOCKS_EXCLUDED(mu_);
  // Its findings stay. NOT_FOUND "unknown_rule".
  absl::Status Remove(const std::string& run, const std::string& rule)
      ABSL_LOCKS_EXCLUDED(mu_);
  // The run to whose rules this job was added last; empty if there is none. It
  // is known after the job has ended, too.
  std::string RunOf(const std::string& job) const ABSL_LOCKS_EXCLUDED(mu_);
  // The number of findings since the server was started.
  uint64_t finding_count() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Where findings go.
  struct Target {
    std::string run;
    std::string path;
    std::shared_ptr<jobs::Job> job;
  };
  // Rules that were added at once.
  struct Set {
    std::vector<model::LiveRule> rules;
    // Those that the server evaluates; null while they are being compiled.
    std::shared_ptr<jobs::FollowedRules> followed;
    // Null if the server evaluates them.
    std::shared_ptr<const Target> reports_to;
    // By name; the field `rule` of the state is not used.
    std::map<std::string, ListedRule> reported;
  };

  absl::Status Reserve(const std::string& run, std::shared_ptr<Set> set)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Drop(const std::string& run, const std::shared_ptr<Set>& set)
      ABSL_LOCKS_EXCLUDED(mu_);
  static const model::LiveRule* FindRule(
      const std::vector<std::shared_ptr<Set>>& sets, const std::string& name);
  static std::vector<ListedRule> StatesOf(const Set& set);
  // Null if a client reports about no such rule.
  Set* FindReported(const std::string& run, const std::string& rule)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // OK if a client reports about all of them.
  absl::Status CheckReported(const std::string& run,
                             const std::vector<model::Finding>& findings,
                             const std::vector<RuleProgress>& progress)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  boost::asio::awaitable<void> React(std::shared_ptr<const Target> target,
                                     model::Finding finding);
  boost::asio::awaitable<void> Perform(model::RuleAction action, jobs::Job& job,
                                       const model::Finding& finding);

  const Options options_;
  // Keeps findings in their order.
  const boost::asio::strand<boost::asio::any_io_executor> strand_;
  mutable absl::Mutex mu_;
  std::map<std::string, std::vector<std::shared_ptr<Set>>> sets_
      ABSL_GUARDED_BY(mu_);
  // By the id of the job.
  std::map<std::string, std::string> runs_of_jobs_ ABSL_GUARDED_BY(mu_);
  uint64_t finding_count_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::rules

#endif  // SERVER_RULES_LIVE_RULES_H_
