// A job of the server, alive or ended.
#ifndef SERVER_JOBS_LIVE_JOB_H_
#define SERVER_JOBS_LIVE_JOB_H_

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/strand.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/task_runner.h"
#include "server/diagnosis/incidents.h"
#include "server/graph/annotations.h"
#include "server/graph/graph_store.h"
#include "server/jobs/agent_connections.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/command_dispatcher.h"
#include "server/jobs/command_sender.h"
#include "server/jobs/control_lease.h"
#include "server/jobs/directory.h"
#include "server/jobs/event_bus.h"
#include "server/jobs/graph_index_cache.h"
#include "server/jobs/graph_offers.h"
#include "server/jobs/hit_recorder.h"
#include "server/jobs/interfaces.h"
#include "server/jobs/job_events.h"
#include "server/jobs/job_recorder.h"
#include "server/jobs/job_recordings.h"
#include "server/jobs/job_snapshot.h"
#include "server/jobs/job_state_machine.h"
#include "server/jobs/job_watchpoints.h"
#include "server/jobs/journal.h"
#include "server/jobs/known_statistics.h"
#include "server/jobs/live_tensors.h"
#include "server/jobs/op_time_table.h"
#include "server/jobs/origin_table.h"
#include "server/jobs/overview_table.h"
#include "server/jobs/rank_group.h"
#include "server/jobs/replica_table.h"
#include "server/jobs/state_publisher.h"
#include "server/jobs/statistics_recorder.h"
#include "server/jobs/step_measurer.h"
#include "server/jobs/tensor_catalog.h"
#include "server/jobs/tensor_requests.h"
#include "server/jobs/unchecked_watchpoints.h"
#include "server/jobs/viewers.h"
#include "server/jobs/watchpoint_actions.h"
#include "server/watch/hit_log.h"
#include "server/watch/watch_table.h"

namespace graphdbg::jobs {

// Implements Job by moving every call to the job's strand, and connects the
// parts of the job, which do the work. The parts refer to each other but not to
// this class; what they need of it is TaskRunner and a few callbacks.
class LiveJob final : public Job,
                      public std::enable_shared_from_this<LiveJob>,
                      private graph::Annotations,
                      private TaskRunner {
 public:
  // `journal` may be null.
  LiveJob(std::string id, int64_t created_at_unix_nano,
          std::unique_ptr<JobJournal> journal,
          boost::asio::any_io_executor executor,
          std::shared_ptr<const JobOptions> options,
          std::shared_ptr<EventBus> bus,
          std::shared_ptr<const Viewers> viewers);

  // --- Job; any thread ------------------------------------------------------
  const std::string& id() const override { return id_; }
  Task<model::Job> Describe() override;
  std::shared_ptr<const model::Job> LastKnown() const override {
    return snapshot_.Get();
  }
  Task<std::string> Control(model::ControlRequest request) override;
  Task<model::Controller> TakeLease(std::string user) override;
  StatusTask ReleaseLease(std::string user) override;
  Task<std::vector<model::GraphSummary>> Graphs() override;
  Task<std::shared_ptr<const model::GraphFile>> Index(
      std::string graph) override;
  Task<model::GraphPage> Export(std::string graph, uint64_t from) override;
  Task<model::ScopeView> Scope(
      std::string graph, std::string name,
      std::optional<uint32_t> aggregate_above) override;
  Task<model::NodeDetail> Node(std::string name) override;
  Task<model::SearchResult> Search(model::SearchQuery query) override;
  Task<model::SourceFile> Source(std::string file) override;
  Task<model::Neighbours> Around(model::NeighbourQuery query) override;
  Task<std::vector<model::Watchpoint>> Watchpoints() override;
  Task<model::Watchpoint> GetWatchpoint(uint32_t id) override;
  Task<model::Watchpoint> AddWatchpoint(model::WatchpointSpec spec) override;
  Task<model::SelectionPreview> PreviewWatchpoint(
      model::WatchpointSpec spec) override;
  Task<model::Watchpoint> ChangeWatchpoint(
      uint32_t id, model::WatchpointChange change) override;
  StatusTask RemoveWatchpoint(uint32_t id) override;
  Task<model::RecommendedSet> AddRecommended() override;
  Task<model::HitPage> Hits(model::HitQuery query) override;
  Task<std::vector<model::Hit>> NewestHits(uint32_t limit) override;
  Task<model::Diagnosis> Diagnose(uint64_t hit) override;
  Task<model::IncidentPage> Incidents(uint32_t limit) override;
  Task<std::vector<model::TensorSummary>> Tensors(std::string node,
                                                  uint32_t rank) override;
  Task<model::TensorValue> Tensor(model::TensorQuery query) override;
  Task<model::TensorHistory> History(std::string node, uint32_t slot,
                                     uint32_t rank) override;
  Task<std::string> StepStatistics(uint32_t rank) override;
  StatusTask CatchTensors(std::string node, uint32_t rank,
                          std::string capture) override;
  Task<model::OverviewSummary> Overview(model::OverviewQuery query) override;
  Task<model::OverviewMatrix> OverviewValues(
      model::OverviewQuery query, model::OverviewMeasure measure) override;
  Task<std::vector<model::OverviewPoint>> OverviewOf(
      uint32_t rank, std::string module) override;
  Task<model::OverviewOps> OverviewOpsOf(uint32_t rank,
                                         std::optional<uint64_t> step) override;
  Task<model::JobRecording> GetRecording() override;
  Task<model::JobRecording> SetRecording(model::RecordingSpec spec) override;
  StatusTask KeepRules(model::KeptRules rules) override;
  Task<model::KeptRules> Rules() override;
  StatusTask PublishFinding(model::Finding finding) override;
  StatusTask PublishLog(uint32_t rank, std::string level,
                        std::string message) override;

  // --- For the directory; any thread ----------------------------------------

  // Claims the rank for an agent. The answer's port is null if the job has
  // ended and this is not one of its processes: the agent needs a new job.
  void Attach(AgentHello hello, std::shared_ptr<AgentLink> link,
              AgentAcceptor::Answer answer);
  // Removes the job if it has ended, after which no agent can attach any more,
  // and calls `removed` when that is durable, possibly after the answer.
  // FAILED_PRECONDITION "invalid_state" if it is alive; UNAVAILABLE "not_kept"
  // if the removal cannot be stored now.
  StatusTask Retire(std::function<void()> removed);
  // Removes the job in any state, and disconnects its agents. Its records are
  // removed before those that other jobs write after this call.
  void Evict();
  // Whether the job had ended at its last change of state.
  bool ended() const { return ended_; }
  // When the job last changed its state.
  int64_t changed_at_unix_nano() const { return changed_at_unix_nano_; }
  // Approximate memory use of graph, hits and statistics.
  uint64_t memory_bytes() const { return memory_bytes_; }
  // Restores the job as the journal recorded it, as far as possible. Must be
  // called before any other method.
  void Restore(SavedJob saved);
  // Why the job could not be restored completely; empty if it could. Constant
  // after Restore.
  const std::string& damage() const { return damage_; }

 private:
  // Delivers the reports of one stream of one rank to the strand.
  class Port;

  // Runs `work` on the strand and returns its result to the caller.
  template <class R, class Work>
  boost::asio::awaitable<R> OnStrand(Work work);
  // Runs `start(self, complete)` on the strand and returns the result that
  // `complete` is called with.
  template <class R, class Start>
  boost::asio::awaitable<R> StartOnStrand(Start start);

  // --- TaskRunner -----------------------------------------------------------
  std::function<void(TaskRunner::Closure)> Poster() override;
  void RunInBackground(TaskRunner::Closure task) override;
  std::shared_ptr<void> RunAfter(std::chrono::milliseconds delay,
                                 TaskRunner::Closure task) override;

  // --- graph::Annotations ---------------------------------------------------
  uint64_t HitsOf(graph::Child child) const override;
  model::Watched WatchedOf(graph::Child child) const override;
  bool Covers(uint32_t watchpoint, graph::NodeIndex node) const override;

  // Everything below runs on the strand.

  // --- Agents and their reports (live_job_agents.cc) ------------------------
  using Done = std::function<void(absl::Status)>;

  absl::StatusOr<std::shared_ptr<AgentPort>> AttachOnStrand(
      AgentHello hello, std::shared_ptr<AgentLink> link);
  void OnReport(uint32_t rank, uint64_t stream, AgentReport report,
                const Done& done);
  void OnClosed(uint32_t rank, uint64_t stream);
  // These call `done` when the report is durable.
  void Handle(Rank& rank, graph::GraphPatch& patch, const Done& done);
  void Handle(Rank& rank, HitReport& report, const Done& done);
  void Handle(Rank& rank, ExitReport& report, const Done& done);
  // Calls `done` at once, with an error if the offer is refused.
  void Handle(Rank& rank, GraphOffer& offer, const Done& done);
  // These have finished when they return.
  void Handle(Rank& rank, RunReport& report);
  void Handle(Rank& rank, TensorChunk& chunk);
  void Handle(Rank& rank, CommandOutcome& outcome);
  void Handle(Rank& rank, WatchpointReport& report);
  void Handle(Rank& rank, StatisticsReport& report);
  void Handle(Rank& rank, ReplicaReport& report);
  void Handle(Rank& rank, OriginReport& report);
  void Handle(Rank& rank, OverviewReport& report);
  void Handle(Rank& rank, RecordingReport& report);
  void Handle(Rank& rank, LogReport& report);
  // Records and publishes changes of the graph.
  void OnGraphChanged(Rank& rank, const graph::GraphChanges& changes);
  // A hit has become visible.
  void OnHit(const model::Hit& hit);
  void RecordDevice(Rank& rank, const RunReport& report);
  // Lets a program end that stopped at an exception, unless a user looks at it.
  void ReleaseIfUnattended(Rank& rank, const RunReport& report);
  // The rank will not answer any more: completes everything that waits for it.
  void AbandonRank(Rank& rank, const std::string& reason);

  // --- State ----------------------------------------------------------------
  void OnStateChange(const JobStateMachine::Change& change);
  void LogStateChange(const JobStateMachine::Change& change) const;
  void SetAside();
  void RetireOnStrand();
  void RequestTensor(model::TensorQuery query,
                     TensorRequests::Completion complete);
  // Of all hits so far.
  const diagnosis::Incidents& GroupHits();
  void UpdateMemoryUse();
  // RESOURCE_EXHAUSTED "out_of_memory_budget" if the job must not grow.
  absl::Status CheckMemory() const;
  model::Job DescribeOnStrand(const ListedRanks& listed) const;
  void Refresh();
  // Updates the snapshot after the tasks that wait for the strand, so that a
  // burst of hits updates it once.
  void ScheduleRefresh();
  // Keeps the ranks together after the tasks that wait for the strand, so that
  // a burst of reports looks at all ranks once.
  void ScheduleSynchronize();

  // Constant after construction.
  const std::string id_;
  const std::shared_ptr<const JobOptions> options_;
  const std::shared_ptr<const Viewers> viewers_;
  const int64_t created_at_unix_nano_;
  const boost::asio::strand<boost::asio::any_io_executor> strand_;

  std::string damage_;

  std::atomic<bool> ended_ = false;
  std::atomic<int64_t> changed_at_unix_nano_;
  std::atomic<uint64_t> memory_bytes_ = 0;
  JobSnapshot snapshot_;

  // On the strand only: the job's data, ...
  bool retired_ = false;
  bool refresh_scheduled_ = false;
  bool synchronize_scheduled_ = false;
  MemoryBudget::Reservation memory_;
  JobStateMachine machine_;
  graph::GraphStore graph_;
  watch::WatchTable watch_table_;
  watch::HitLog hits_;
  KnownStatistics known_statistics_;
  UncheckedWatchpoints unchecked_;
  ReplicaTable replicas_;
  OriginTable origins_;
  // By rank.
  std::map<uint32_t, OverviewTable> overviews_;
  std::map<uint32_t, OpTimeTable> op_times_;
  // Built when it is needed, from this many hits and origins.
  std::unique_ptr<const diagnosis::Incidents> incidents_;
  std::pair<uint64_t, uint64_t> incidents_version_;
  WatchpointActions actions_;
  model::KeptRules rules_;

  // ... and the parts that work on it, each using those above it.
  JobEvents events_;
  JobRecorder recorder_;
  StatePublisher states_;
  CommandSender commands_;
  RankGroup group_;
  ControlLease lease_;
  CommandDispatcher dispatcher_;
  JobWatchpoints watchpoints_;
  StatisticsRecorder statistics_;
  HitRecorder hit_recorder_;
  TensorRequests tensor_requests_;
  StepMeasurer step_measurer_;
  JobRecordings recordings_;
  LiveTensors known_tensors_;
  TensorCatalog tensors_;
  GraphIndexCache graph_files_;
  GraphOffers graph_offers_;
  AgentConnections connections_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_LIVE_JOB_H_
