// One job: all that is known of it, and everything that changes it, on one
// strand.
#ifndef SERVER_JOBS_JOB_IMPL_H_
#define SERVER_JOBS_JOB_IMPL_H_

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/rate_limit.h"
#include "server/graph/annotations.h"
#include "server/graph/graph_store.h"
#include "server/graph/graph_view.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/command_log.h"
#include "server/jobs/directory.h"
#include "server/jobs/event_hub.h"
#include "server/jobs/interfaces.h"
#include "server/jobs/journal.h"
#include "server/jobs/known_statistics.h"
#include "server/jobs/rank.h"
#include "server/jobs/rank_sync.h"
#include "server/jobs/run_state.h"
#include "server/jobs/tensor_desk.h"
#include "server/watch/hit_log.h"
#include "server/watch/watch_table.h"

namespace graphdbg::jobs {

class JobImpl final : public Job,
                      public std::enable_shared_from_this<JobImpl>,
                      private graph::Annotations {
 public:
  // `journal` may be null.
  JobImpl(std::string id, int64_t created_at_unix_nano,
          std::unique_ptr<JobJournal> journal,
          boost::asio::any_io_executor executor,
          std::shared_ptr<const JobOptions> options,
          std::shared_ptr<EventHub> hub);

  // --- Job; any thread ----------------------------------------------------
  const std::string& id() const override { return id_; }
  Task<model::Job> Describe() override;
  Task<std::string> Control(model::ControlRequest request) override;
  Task<std::vector<model::GraphSummary>> Graphs() override;
  Task<std::shared_ptr<const model::GraphFile>> Index(
      std::string graph) override;
  Task<model::GraphPage> Export(std::string graph, uint64_t from) override;
  Task<model::ScopeView> Scope(
      std::string graph, std::string name,
      std::optional<uint32_t> aggregate_above) override;
  Task<model::NodeDetail> Node(std::string name) override;
  Task<model::SearchResult> Search(model::SearchQuery query) override;
  Task<model::Neighbours> Around(model::NeighbourQuery query) override;
  Task<std::vector<model::Watchpoint>> Watchpoints() override;
  Task<model::Watchpoint> GetWatchpoint(uint32_t id) override;
  Task<model::Watchpoint> AddWatchpoint(model::WatchpointSpec spec) override;
  Task<uint64_t> CountNodes(model::WatchpointSpec spec) override;
  Task<model::Watchpoint> ChangeWatchpoint(
      uint32_t id, model::WatchpointChange change) override;
  StatusTask RemoveWatchpoint(uint32_t id) override;
  Task<model::RecommendedSet> AddRecommended() override;
  Task<model::HitPage> Hits(model::HitQuery query) override;
  Task<std::vector<model::Hit>> NewestHits(uint32_t limit) override;
  Task<std::vector<model::TensorSummary>> Tensors(std::string node,
                                                  uint32_t rank) override;
  Task<model::TensorValue> Tensor(model::TensorQuery query) override;
  Task<model::TensorHistory> History(std::string node, uint32_t slot,
                                     uint32_t rank) override;
  StatusTask CatchTensors(std::string node, uint32_t rank) override;

  // --- For the directory; any thread ---------------------------------------

  // Claims the rank for an agent. The answer's port is null if the job has
  // ended and this is not a lost process of it: it needs a job of its own.
  void Attach(AgentHello hello, std::shared_ptr<AgentLink> link,
              AgentEntrance::Answer answer);
  // FAILED_PRECONDITION "invalid_state" while alive; after OK no agent can
  // attach any more.
  StatusTask Retire();
  // The same whatever its state: the directory has let go of it.
  void Evict();
  // As of the last change of state.
  bool ended() const { return ended_; }
  // What graph and hits take, about.
  uint64_t memory_bytes() const { return memory_bytes_; }
  // Before all else: what the job was when the server ended (job_journal.cc).
  absl::Status Restore(SavedJob saved);

 private:
  // One stream of one rank; hands reports to the strand.
  class Port;

  template <class R, class Work>
  boost::asio::awaitable<R> OnStrand(Work work);

  // Everything below: on the strand only.

  // --- Agents (job_agents.cc) ----------------------------------------------
  absl::StatusOr<std::shared_ptr<AgentPort>> DoAttach(
      AgentHello hello, std::shared_ptr<AgentLink> link);
  void DoRetire();
  void WelcomeRank(Rank& rank, bool resumed);
  void DoDeliver(uint32_t rank, uint64_t stream, AgentReport report,
                 const std::function<void(absl::Status)>& done);
  void DoClosed(uint32_t rank, uint64_t stream);
  using Done = std::function<void(absl::Status)>;
  // These call `done` when it is kept.
  void On(Rank& rank, graph::GraphPatch& patch, const Done& done);
  void On(Rank& rank, HitReport& report, const Done& done);
  void Record(watch::HitRecord hit);
  // Whether its statistics are those of the tensor.
  static bool TellsOfTensor(const model::Hit& hit);
  void NoteMemory();
  absl::Status On(Rank& rank, RunReport& report);
  void NoteDevice(Rank& rank, const RunReport& report);
  absl::Status On(Rank& rank, TensorPiece& piece);
  absl::Status On(Rank& rank, CommandOutcome& outcome);
  absl::Status On(Rank& rank, WatchpointReport& report);
  absl::Status On(Rank& rank, StatisticsReport& report);
  absl::Status On(Rank& rank, LogReport& report);
  absl::Status On(Rank& rank, Farewell& farewell);
  // The rank answers nothing any more: ends what waits for it.
  void GiveUpOn(uint32_t rank, const std::string& why);

  // --- Several ranks (job_ranks.cc) ----------------------------------------
  // Whether the request is for all of several ranks.
  bool IsForAll(const model::ControlRequest& request) const;
  bool has_several_ranks() const;
  // What several ranks cannot do all together, with the reason.
  std::map<model::ControlVerb, std::string> NotForAll() const;
  // Whether it fits ranks that stop together.
  absl::Status CheckForAll(const model::ControlRequest& request) const;
  // The user has decided for all ranks, or for one of them.
  void NoteIntent(const model::ControlRequest& request);
  // The step at whose end all stand after `steps` more.
  uint64_t StepAfter(uint64_t steps) const;
  // After every change of a rank's state.
  void KeepRanksTogether();
  std::vector<RankPosition> Positions() const;
  void Give(const SyncOrder& order);
  // Ends ranks as soon as they stand together; false: they do.
  bool EndTogether(uint64_t command);
  void EndAll();

  // --- What outlives the server (job_journal.cc) ---------------------------
  // Goes on with `then`, on the strand, when what was noted so far is kept; at
  // once if nothing is kept.
  void WhenKept(std::function<void()> then);
  // Whether there is something to note what happens in.
  bool noting() const { return journal_ != nullptr && !retired_; }
  void NoteState(const Rank& rank);
  absl::Status RestoreGraph(SavedJob& saved);
  absl::Status RestoreWatch(SavedJob& saved);
  // Ranks that do not come back in time are lost.
  void AwaitRanks();
  bool awaits_ranks() const;
  void GiveUpAwaited();

  // --- State (job_state.cc) ------------------------------------------------
  // The only place where a rank's state, and with it the job's, changes: logs
  // it and tells everybody. Does nothing if `next` is what it is already.
  void Transition(Rank& rank, RunState next);
  // Tells everybody if it changes something.
  void SetUnchecked(std::set<uint32_t> watchpoints);
  // The watchpoint was set, changed or removed.
  void NoteChanged(uint32_t watchpoint);
  void TellState(uint32_t rank);
  void TellCommand(uint64_t id, const model::ControlRequest& request);
  void TellCommandEnd(uint32_t rank, const CommandEnd& end);
  void TellWatchpoint(uint32_t id);
  void TellLog(uint32_t rank, std::string level, std::string message);
  void Publish(model::Event event);
  model::Job Info() const;

  // --- The graph as a file (job_index.cc) -----------------------------------
  struct Packed;
  using IndexDone = std::function<void(
      absl::StatusOr<std::shared_ptr<const model::GraphFile>>)>;
  void StartIndex(const std::string& graph, IndexDone complete);
  std::string IndexVersion(uint64_t graph_version) const;
  absl::StatusOr<Packed> PackGraph(const std::string& graph);
  void KeepIndex(const std::string& graph, uint64_t graph_version,
                 std::shared_ptr<const model::GraphFile> file);

  // --- Questions and orders (job_control.cc, job_impl.cc) -------------------
  absl::StatusOr<std::string> DoControl(const model::ControlRequest& request);
  absl::Status CheckSupported(model::ControlVerb verb) const;
  absl::Status CheckRequest(const model::ControlRequest& request) const;
  void Send(Rank& rank, const CommandOrder& order);
  // The ranks that a command goes to; errors as Control.
  absl::StatusOr<std::set<uint32_t>> TargetsOf(
      const model::ControlRequest& request);
  absl::StatusOr<model::Watchpoint> WatchpointNamed(uint32_t id) const;
  void SpreadWatchpoint(
      uint32_t id,
      std::function<void(absl::StatusOr<model::Watchpoint>)> complete);
  void DoRemoveWatchpoint(uint32_t id,
                          std::function<void(absl::Status)> complete);
  // (job_recommended.cc)
  void DoAddRecommended(
      std::function<void(absl::StatusOr<model::RecommendedSet>)> complete);
  std::vector<model::WatchpointSpec> RecommendedSet() const;
  bool OffersRecommended() const;
  void PushWatchpoint(AgentLink& link, uint32_t id) const;
  void PushWatchpointToAll(uint32_t id) const;
  absl::StatusOr<std::vector<model::TensorSummary>> DoTensors(
      const std::string& node, uint32_t rank) const;
  absl::StatusOr<model::Neighbours> DoAround(
      const model::NeighbourQuery& query) const;
  model::NeighbourTensor TensorAt(const graph::GraphView& view,
                                  graph::NodeIndex node, uint32_t slot,
                                  uint32_t rank) const;
  absl::StatusOr<model::TensorHistory> DoHistory(const std::string& node,
                                                 uint32_t slot,
                                                 uint32_t rank) const;
  absl::Status DoCatchTensors(const std::string& node, uint32_t rank);
  void StartTensor(model::TensorQuery query, TensorDesk::Completion complete);
  absl::StatusOr<Rank*> RankForTensor(const model::TensorQuery& query);
  // NOT_FOUND "unknown_node" or "unknown_slot".
  absl::StatusOr<graph::NodeIndex> NodeOfTensor(const std::string& node,
                                                uint32_t slot) const;
  // Remembers them, and writes down what is to be written.
  void NoteStatistics(uint32_t rank, graph::NodeIndex node, uint32_t slot,
                      uint64_t step, const model::Statistics& statistics,
                      KnownStatistics::Source source);
  void TensorCame(const model::TensorQuery& query,
                  const absl::StatusOr<model::TensorValue>& value);
  void TensorDeadline(uint64_t request_id, uint32_t rank);

  // --- graph::Annotations --------------------------------------------------
  uint64_t HitsOf(graph::Child child) const override;
  model::Watched WatchedOf(graph::Child child) const override;
  bool Covers(uint32_t watchpoint, graph::NodeIndex node) const override;

  // Constant after construction.
  const std::string id_;
  const std::shared_ptr<const JobOptions> options_;
  const std::shared_ptr<EventHub> hub_;
  const int64_t created_at_unix_nano_;
  // Null if nothing outlives the server.
  const std::unique_ptr<JobJournal> journal_;
  const boost::asio::strand<boost::asio::any_io_executor> strand_;

  std::atomic<bool> ended_ = false;
  std::atomic<uint64_t> memory_bytes_ = 0;

  // On the strand only.
  bool retired_ = false;
  // While ranks are awaited.
  boost::asio::steady_timer return_timer_;
  RunState run_;
  // The user has let all ranks go, and none has stopped since.
  bool runs_freely_ = false;
  // The user moves single ranks.
  bool ranks_apart_ = false;
  // The command that ends all ranks, while they are brought together; or 0.
  uint64_t ending_ = 0;
  boost::asio::steady_timer end_timer_;
  // Watchpoints that changed since the job stopped.
  std::set<uint32_t> unchecked_;
  uint64_t last_seq_;
  bool journal_failed_ = false;
  std::map<uint32_t, Rank> ranks_;
  graph::GraphStore graph_;
  struct KeptIndex {
    uint64_t graph_version = 0;
    std::shared_ptr<const model::GraphFile> file;
  };
  // By the graph's id; of the newest version that somebody asked for.
  std::map<std::string, KeptIndex> indices_;
  watch::WatchTable watch_;
  watch::HitLog hits_;
  // That the agents could not send.
  uint64_t dropped_hits_ = 0;
  CommandLog commands_;
  TensorDesk tensors_;
  KnownStatistics known_;
  // Statistics that nobody asked for: a disk takes no more of them.
  RateLimit written_reports_{2'000, RateLimit::Clock::now()};
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_JOB_IMPL_H_
