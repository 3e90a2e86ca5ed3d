// Watchpoints of a job, kept in step with the journal and with all agents.
#ifndef SERVER_JOBS_JOB_WATCHPOINTS_H_
#define SERVER_JOBS_JOB_WATCHPOINTS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/job_events.h"
#include "server/jobs/job_recorder.h"
#include "server/jobs/job_state_machine.h"
#include "server/jobs/rank.h"
#include "server/jobs/unchecked_watchpoints.h"
#include "server/model/watch.h"
#include "server/watch/hit_log.h"
#include "server/watch/watch_table.h"

namespace graphdbg::jobs {

// On the job's strand only.
//
// A change is recorded first and sent to agents once it is durable, so that no
// agent ever checks a revision that a restarted server would not know.
// Callbacks run at that point. A change that cannot be stored is undone, and
// its callback gets UNAVAILABLE "not_kept".
class JobWatchpoints {
 public:
  using Callback = std::function<void(absl::StatusOr<model::Watchpoint>)>;

  JobWatchpoints(watch::WatchTable& table, const watch::HitLog& hits,
                 JobStateMachine& machine, JobRecorder& recorder,
                 UncheckedWatchpoints& unchecked, JobEvents& events);

  std::vector<model::Watchpoint> List() const;
  // NOT_FOUND "unknown_watchpoint".
  absl::StatusOr<model::Watchpoint> Get(uint32_t id) const;

  // Errors as WatchTable.
  void Add(model::WatchpointSpec spec, Callback done);
  void Change(uint32_t id, const model::WatchpointChange& change,
              Callback done);
  void Remove(uint32_t id, std::function<void(absl::Status)> done);

  // Creates the recommended watchpoints that do not exist yet.
  void AddRecommended(
      std::function<void(absl::StatusOr<model::RecommendedSet>)> done);
  // Whether the job is alive and has none of the recommended watchpoints.
  bool OffersRecommended() const;

  // Welcomes an agent with all watchpoints. `resumed`: its process was
  // connected before and may hold outdated ones.
  void Welcome(const std::string& job, AgentLink& link, uint32_t rank,
               bool resumed) const;

  // Disables a watchpoint that is met once. The hit is one of its own.
  void OnHit(const model::Hit& hit);
  // A rank has reported its position, having been at `from`. Watchpoints that
  // are muted until a step in between pause it from now on.
  void OnMoved(const Rank& rank, uint64_t from);
  // Whether a hit was to pause its rank, but was found before OnMoved.
  bool PausesLate(const Rank& rank, const model::Hit& hit) const;
  // A rank reports whether it can check a watchpoint.
  void OnReport(uint32_t rank, const WatchpointReport& report);

  // Publishes a watchpoint after a change.
  void Publish(uint32_t id);

  // The step that the rank is in, or begins when it resumes.
  static uint64_t StepOf(const Rank& rank);

 private:
  // UNIMPLEMENTED "unsupported_watchpoint" if a rank's agent counts no hits,
  // and the watchpoint passes over some, or if it does not know what the
  // watchpoint selects by. WithField names the field.
  absl::Status CheckAbilities(const model::WatchpointSpec& spec) const;
  // Records the current revision of a watchpoint, which may be its removal.
  void Record(uint32_t id);
  // Records the current revision and then sends it to all ranks. `undo` is
  // called if it cannot be stored and is still the current one.
  void Distribute(uint32_t id, std::function<void()> undo, Callback done);
  // Sends the current revision, or the removal, to all ranks.
  void SendToAll(uint32_t id);
  // These record that an earlier change has not been made.
  void UndoAdd(uint32_t id);
  void UndoChange(uint32_t id, const model::WatchpointSpec& before);
  void UndoRemove(uint32_t id);
  // Ranks that it does not select have it removed.
  void Send(AgentLink& link, uint32_t rank, uint32_t id) const;
  void MarkUnchecked(uint32_t id);
  std::vector<model::WatchpointSpec> RecommendedSet() const;

  watch::WatchTable& table_;
  const watch::HitLog& hits_;
  JobStateMachine& machine_;
  JobRecorder& recorder_;
  UncheckedWatchpoints& unchecked_;
  JobEvents& events_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_JOB_WATCHPOINTS_H_
