// Recorded runs: their steps, collections, histories and checks.
#ifndef SERVER_MODEL_RUN_H_
#define SERVER_MODEL_RUN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/model/graph.h"
#include "server/model/job.h"
#include "server/model/rules.h"
#include "server/model/run_mode.h"
#include "server/model/tensor.h"
#include "server/model/watch.h"

namespace graphdbg::model {

// Why a step has no records, or not all.
enum class StepReason {
  // It is complete.
  kNone,
  // Left out to keep within the limit on overhead.
  kOverhead,
  // No collection was due.
  kNotDue,
  // The process died in it, or it still runs.
  kUnfinished,
};

// The op that a thread of a rank began last.
struct LastOp {
  uint32_t rank = 0;
  // The kernel's id.
  uint32_t thread = 0;
  // The name of the node; empty if it is not known.
  std::string node;
  uint64_t step = 0;
  uint32_t exec_order = 0;
  int64_t begin_unix_nano = 0;
  // It had begun and not ended.
  bool unfinished = false;
  // The user's own line that called it.
  std::optional<SourceLine> source;
};

// A change that a user made to the paused program.
struct UserChange {
  uint32_t rank = 0;
  uint64_t step = 0;
  int64_t time_unix_nano = 0;
  // As in the audit log of the server. Empty if it is not known.
  std::string by;
  // What was done, with the values before and after, for people.
  std::string text;
  // The name of the changed tensor's node; empty if the change concerns none.
  std::string node;
};

// A recorded run: a job as it was when it ended, or as it is while it is
// recorded.
struct Run {
  Job job;
  uint64_t first_step = 0;
  uint64_t last_step = 0;
  // How it ended: "exit", "exception", "terminated", "closed" or "lost"; empty
  // while a process records.
  std::string ended;
  std::string program;
  // The run that this one continues. May be empty.
  std::string resumes;
  // Size of the logs of all ranks, without tensors.
  uint64_t log_bytes = 0;
  // Damaged files, with the reason, by path. The rest of the run can be read.
  std::map<std::string, std::string> damage;
  // For each rank that died or is still running: the ops that have begun and
  // not ended, or else the last op that has ended.
  std::vector<LastOp> last_ops;
  // By rank, in the order in which they were made.
  std::vector<UserChange> user_changes;
};

// A step in one mode. A training step may contain passes of evaluation, which
// are an entry of their own.
struct RecordedStep {
  uint64_t step = 0;
  RunMode mode = RunMode::kUnknown;
  // Counts the steps and passes of the mode, from 1; that of the last pass.
  uint64_t mode_step = 0;
  uint32_t passes = 0;
  // Unix time. Absent if the mark was lost.
  std::optional<int64_t> begin_unix_nano;
  std::optional<double> seconds;
  uint64_t records = 0;
  uint64_t dropped = 0;
  StepReason reason = StepReason::kNone;
  // The number of ranks that recorded this step.
  uint32_t ranks = 0;
};

struct StepQuery {
  // Absent: the lowest rank.
  std::optional<uint32_t> rank;
  std::optional<RunMode> mode;
  uint32_t limit = 1'000;
  // StepPage::next_cursor of the previous page. Empty: the first page.
  std::string cursor;
};

struct StepPage {
  // Ascending; entries of a step are neighbours.
  std::vector<RecordedStep> steps;
  // Empty on the last page.
  std::string next_cursor;
};

struct Collection {
  std::string name;
  // "off", "light", "statistics" or "tensors". Empty if it is not known.
  std::string level;
  // The names of the tensors that it selected, "node:slot", on any rank.
  std::vector<std::string> tensors;
};

struct StatisticsQuery {
  // Absent: the last step.
  std::optional<uint64_t> step;
  uint32_t rank = 0;
  std::optional<RunMode> mode;
  std::optional<uint32_t> pass;
};

struct RunHistoryQuery {
  std::string node;
  uint32_t slot = 0;
  uint32_t rank = 0;
  uint64_t from = 0;
  uint64_t to = UINT64_MAX;
  // If there are more points, they are put into buckets.
  uint32_t points = 2'000;
};

// Several consecutive points of a history.
struct HistoryBucket {
  StatisticsPoint first;
  StatisticsPoint last;
  // Those with the smallest minimum and the largest maximum.
  StatisticsPoint least;
  StatisticsPoint greatest;
  uint64_t points = 0;
};

struct RunHistory {
  Endpoint tensor;
  // All points, or empty if there are buckets.
  std::vector<StatisticsPoint> points;
  std::vector<HistoryBucket> buckets;
  // Steps whose values were saved.
  std::vector<uint64_t> saved_steps;
};

// A watchpoint, or rules, that are checked over recorded statistics.
struct CheckSpec {
  // Not used if there are rules.
  WatchpointSpec watchpoint;
  std::vector<RuleSpec> rules;
  uint64_t from = 0;
  uint64_t to = UINT64_MAX;
  // Empty: all ranks.
  std::vector<uint32_t> ranks;
};

enum class CheckState { kRunning, kDone, kCancelled, kFailed };

// Whether a hit was found in recorded statistics or in the values of a tensor.
enum class Evidence { kStatistics, kTensor };

struct CheckHit {
  Hit hit;
  Evidence evidence = Evidence::kStatistics;
};

struct CheckReport {
  CheckState state = CheckState::kRunning;
  // Steps of ranks.
  uint64_t done = 0;
  uint64_t total = 0;
  // Those that were found first, by rank.
  std::vector<CheckHit> hits;
  // Includes hits that are not in `hits`.
  uint64_t hit_count = 0;
  // Tensors that could not be checked, because neither the statistics that the
  // condition needs nor values were recorded.
  uint64_t not_recorded = 0;
  // Findings of rules, by step. If there are too many, these are the first
  // ones.
  std::vector<Finding> findings;
  std::vector<RuleReport> rules;
  std::string error;
};

// A live rule and what became of it.
struct LiveRuleState {
  LiveRule rule;
  // Running until the run has ended and all of it was evaluated.
  CheckState state = CheckState::kRunning;
  RuleReport report;
  std::string error;
};

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_RUN_H_
