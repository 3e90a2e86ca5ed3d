// The interface between recorded runs and the frontends that serve them to
// users. Beside what is here, a run answers everything that a job does, as it
// was at one of its steps: see At().
//
// Every method may be called from any executor and answers on the caller's.
// Errors as in server/jobs/interfaces.h; DATA_LOSS names the damaged file.
#ifndef SERVER_JOBS_RUNS_H_
#define SERVER_JOBS_RUNS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/jobs/interfaces.h"
#include "server/model/divergence.h"
#include "server/model/run.h"

namespace graphdbg::jobs {

// Rules that are evaluated as a run grows, until this is destroyed.
class FollowedRules {
 public:
  virtual ~FollowedRules() = default;

  // The result so far. Done once the run has ended and all of it
  // was evaluated. Any thread.
  virtual model::CheckReport Report() const = 0;
};

// Called with each finding, in order of the steps of a rank, on a thread of the
// run. Must not block.
using FindingSink = std::function<void(const model::Finding&)>;

// A run on disk. Reading it changes nothing in it.
class RecordedRun {
 public:
  virtual ~RecordedRun() = default;

  virtual const std::string& id() const = 0;
  // Its directory, as an absolute path.
  virtual const std::string& path() const = 0;
  // `whole` includes what requires the graph: the counts of hits, and the last
  // op of ranks whose process died.
  virtual Task<model::Run> Describe(bool whole) = 0;
  // The run as a job that is at this step; absent: the last one. All commands
  // are refused with FAILED_PRECONDITION "invalid_state". Values that were not
  // recorded are NOT_FOUND "not_recorded"; the message names the nearest step
  // that has them.
  virtual std::shared_ptr<Job> At(std::optional<uint64_t> step) = 0;

  virtual Task<model::StepPage> Steps(model::StepQuery query) = 0;
  virtual Task<std::vector<model::Collection>> Collections() = 0;
  // The statistics of a step as columns, in the format of
  // proto/docs/step-statistics.md. NOT_FOUND "unknown_step".
  virtual Task<std::string> Statistics(model::StatisticsQuery query) = 0;
  virtual Task<model::RunHistory> History(model::RunHistoryQuery query) = 0;
  // Finds where this run and another one of the same directory diverge; `other`
  // may be this run. `calibration`, if it is not null, counts as equal to this
  // run: tensors may differ 8 times as much as between the two. NOT_FOUND
  // "unknown_rank"; UNIMPLEMENTED "not_comparable" if they are of different
  // kinds.
  virtual Task<model::Divergence> Compare(
      std::shared_ptr<RecordedRun> other,
      std::shared_ptr<RecordedRun> calibration,
      model::DivergenceQuery query) = 0;

  // Checks a watchpoint, or rules, over what was recorded, in the background,
  // and returns the check's id. INVALID_ARGUMENT as for a watchpoint of a job,
  // or names the field of a rule; RESOURCE_EXHAUSTED "too_many_checks".
  virtual Task<std::string> StartCheck(model::CheckSpec spec) = 0;
  // NOT_FOUND "unknown_check".
  virtual Task<model::CheckReport> GetCheck(std::string id) = 0;
  // Ends the check, if it still runs, and forgets it.
  virtual StatusTask EndCheck(std::string id) = 0;

  // Evaluates rules over everything that is recorded, and then over each step
  // soon after it has ended. INVALID_ARGUMENT names the field of a rule.
  virtual Task<std::shared_ptr<FollowedRules>> Follow(
      std::vector<model::RuleSpec> rules, FindingSink found) = 0;
  // The findings that were recorded while the job ran: JSON, one to a line.
  virtual Task<std::string> Findings() = 0;
};

// The runs in the directories that the server was started with.
class RunDirectory {
 public:
  virtual ~RunDirectory() = default;

  // Runs that appeared since the last call are included.
  virtual Task<std::vector<std::shared_ptr<RecordedRun>>> Runs() = 0;
  // NOT_FOUND "unknown_run".
  virtual Task<std::shared_ptr<RecordedRun>> Find(std::string id) = 0;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_RUNS_H_
