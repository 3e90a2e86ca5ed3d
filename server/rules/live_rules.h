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
#include "server/rules/actions.h"
#include "server/rules/known_findings.h"
#include "server/rules/reported_rule.h"

namespace graphdbg::rules {

// Thread-safe. Findings are appended to findings.jsonl in the run's directory,
// published as events of the job, and answered with the rule's actions.
// Findings that the file already has are ignored. The rules of a job are stored
// with it.
class LiveRules : public std::enable_shared_from_this<LiveRules> {
 public:
  // More rules of a run are refused.
  static constexpr size_t kMaxRules = 64;
  // More names of rules are not counted separately.
  static constexpr size_t kMaxCounted = 100;

  struct Options {
    // A finding as a line of findings.jsonl, without its end.
    std::function<std::string(const model::Finding&)> encode;
    // Rules as text, and back.
    std::function<std::string(const std::vector<model::LiveRule>&)>
        encode_rules;
    std::function<absl::StatusOr<std::vector<model::LiveRule>>(
        std::string_view)>
        decode_rules;
    // A line for the user. Any thread.
    std::function<void(std::string_view)> log;
  };

  // `executor` writes the findings. `actions` must outlive its work.
  LiveRules(boost::asio::any_io_executor executor, const ActionRunner& actions,
            Options options);

  // Adds the rules that jobs had when the server ended, except for jobs that
  // have ended. `runs` must outlive the work on the executor.
  void Restore(const jobs::Directory& directory, jobs::RunDirectory& runs);

  // Evaluates the rules over what `run` has recorded and will record. `job` is
  // the job that records; without one, actions have no effect. ALREADY_EXISTS
  // "rule_exists"; RESOURCE_EXHAUSTED "too_many_rules"; INVALID_ARGUMENT names
  // the field, such as "rules[2].when".
  jobs::Task<std::vector<ListedRule>> Add(
      std::shared_ptr<jobs::RecordedRun> run, std::shared_ptr<jobs::Job> job,
      std::vector<model::LiveRule> rules);
  // Adds rules that a client evaluates. Errors as for Add.
  jobs::StatusTask AddReported(std::shared_ptr<jobs::RecordedRun> run,
                               std::shared_ptr<jobs::Job> job,
                               std::vector<ReportedRule> rules);
  // A client reports findings and the progress of its rules. NOT_FOUND
  // "unknown_rule" if clients do not evaluate all of them; nothing changes
  // then.
  absl::Status Report(const std::string& run,
                      const std::vector<model::Finding>& findings,
                      const std::vector<RuleProgress>& progress)
      ABSL_LOCKS_EXCLUDED(mu_);
  // The rules of a run, in the order in which they were added.
  std::vector<ListedRule> List(const std::string& run) const
      ABSL_LOCKS_EXCLUDED(mu_);
  // Absent if there is no such rule.
  std::optional<model::LiveRule> RuleOf(const std::string& run,
                                        const std::string& rule) const
      ABSL_LOCKS_EXCLUDED(mu_);
  // Its findings stay. NOT_FOUND "unknown_rule".
  jobs::StatusTask Remove(std::string run, std::string rule);
  // The run to whose rules this job was added last; empty if there is none. It
  // is known after the job has ended, too.
  std::string RunOf(const std::string& job) const ABSL_LOCKS_EXCLUDED(mu_);
  // The numbers of findings since the server was started, by the id of a
  // built-in rule or the name of another one. Beyond kMaxCounted of these, all
  // others count as "other".
  std::map<std::string, uint64_t> finding_counts() const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Where findings go.
  struct Target {
    std::string run;
    std::string path;
    std::shared_ptr<jobs::Job> job;
    // On the strand only.
    KnownFindings known;
  };
  // Rules that were added at once.
  struct Set {
    std::vector<model::LiveRule> rules;
    // Null if no job records the run.
    std::shared_ptr<jobs::Job> job;
    // If the server evaluates the rules; null while they are being compiled.
    std::shared_ptr<jobs::FollowedRules> followed;
    // If a client evaluates the rules.
    std::shared_ptr<Target> reports_to;
    // Its reports, by the name of the rule; the field `rule` of the state is
    // not used. Empty if the server evaluates the rules.
    std::map<std::string, ListedRule> reported;
  };

  absl::Status Reserve(const std::string& run, std::shared_ptr<Set> set)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Drop(const std::string& run, const std::shared_ptr<Set>& set)
      ABSL_LOCKS_EXCLUDED(mu_);
  static const model::LiveRule* FindRule(
      const std::vector<std::shared_ptr<Set>>& sets, const std::string& name);
  static std::vector<ListedRule> StatesOf(const Set& set);
  // The set of a rule that a client evaluates; null if there is none.
  Set* FindReported(const std::string& run, const std::string& rule)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // NOT_FOUND "unknown_rule" unless clients evaluate all of these rules.
  absl::Status CheckReported(const std::string& run,
                             const std::vector<model::Finding>& findings,
                             const std::vector<RuleProgress>& progress)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Removes a rule from its set, and returns the set's job. NOT_FOUND.
  absl::StatusOr<std::shared_ptr<jobs::Job>> Take(const std::string& run,
                                                  const std::string& rule)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Stores the rules of the run with the job, except those that clients
  // evaluate.
  boost::asio::awaitable<void> Keep(std::string run,
                                    std::shared_ptr<jobs::Job> job)
      ABSL_LOCKS_EXCLUDED(mu_);
  boost::asio::awaitable<void> RestoreOne(std::shared_ptr<jobs::Job> job,
                                          jobs::RunDirectory& runs);
  jobs::StatusTask AddKept(std::shared_ptr<jobs::Job> job,
                           jobs::RunDirectory& runs);
  boost::asio::awaitable<void> React(std::shared_ptr<Target> target,
                                     model::Finding finding);
  void Count(const model::RuleSpec& rule) ABSL_LOCKS_EXCLUDED(mu_);

  const ActionRunner& actions_;
  const Options options_;
  // Keeps findings in their order.
  const boost::asio::strand<boost::asio::any_io_executor> strand_;
  mutable absl::Mutex mu_;
  std::map<std::string, std::vector<std::shared_ptr<Set>>> sets_
      ABSL_GUARDED_BY(mu_);
  // By the id of the job.
  std::map<std::string, std::string> runs_of_jobs_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, uint64_t> finding_counts_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::rules

#endif  // SERVER_RULES_LIVE_RULES_H_
