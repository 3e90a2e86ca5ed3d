// The interface between jobs and the frontends that serve them to users. A
// frontend decodes a request, calls one of these methods, and encodes the
// answer.
//
// Every method may be called from any executor. A job runs on a strand of its
// own and answers on the caller's executor.
//
// Errors have a canonical code and a message for users. Their payload contains
// a stable identifier for programs (see server/base/error.h), for example
// "unknown_node", "invalid_state", "slice_too_large" or "value_gone".
#ifndef SERVER_JOBS_INTERFACES_H_
#define SERVER_JOBS_INTERFACES_H_

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/model/diagnosis.h"
#include "server/model/graph.h"
#include "server/model/job.h"
#include "server/model/neighbours.h"
#include "server/model/overview.h"
#include "server/model/recording.h"
#include "server/model/rules.h"
#include "server/model/tensor.h"
#include "server/model/watch.h"

namespace graphdbg::jobs {

template <class T>
using Task = boost::asio::awaitable<absl::StatusOr<T>>;
using StatusTask = boost::asio::awaitable<absl::Status>;

// A job, alive or ended.
class Job {
 public:
  virtual ~Job() = default;

  virtual const std::string& id() const = 0;

  virtual Task<model::Job> Describe() = 0;
  // The job as its last event described it, or newer. Unlike the other methods
  // this one does not wait for the job, which may be busy. Not null.
  virtual std::shared_ptr<const model::Job> LastKnown() const = 0;
  // Returns the id under which events report the command's outcome.
  // FAILED_PRECONDITION "invalid_state" or "not_controller", NOT_FOUND
  // "unknown_node", UNIMPLEMENTED "unsupported_command". Here and below,
  // PERMISSION_DENIED "not_allowed_by_job" if the job's owner does not allow
  // it.
  virtual Task<std::string> Control(model::ControlRequest request) = 0;
  // Takes the control of the job from its holder; others are refused until
  // it is given back, taken over or lapses.
  virtual Task<model::Controller> TakeLease(std::string user) = 0;
  // Gives the control back. FAILED_PRECONDITION "not_controller".
  virtual StatusTask ReleaseLease(std::string user) = 0;

  virtual Task<std::vector<model::GraphSummary>> Graphs() = 0;
  // The whole graph; NOT_FOUND "unknown_graph".
  virtual Task<std::shared_ptr<const model::GraphFile>> Index(
      std::string graph) = 0;
  // One page of a graph; `from` is 0 for the first. NOT_FOUND "unknown_graph".
  virtual Task<model::GraphPage> Export(std::string graph, uint64_t from) = 0;
  // Groups of more than `aggregate_above` similar siblings are returned as one
  // aggregate, whose name can be passed here like that of a scope. If absent,
  // all siblings are returned.
  virtual Task<model::ScopeView> Scope(
      std::string graph, std::string name,
      std::optional<uint32_t> aggregate_above) = 0;
  virtual Task<model::NodeDetail> Node(std::string name) = 0;
  virtual Task<model::SearchResult> Search(model::SearchQuery query) = 0;
  // A file that stacks of nodes refer to. NOT_FOUND "unknown_file" if the job
  // has not sent it.
  virtual Task<model::SourceFile> Source(std::string file) = 0;
  // NOT_FOUND "unknown_node" or "unknown_slot".
  virtual Task<model::Neighbours> Around(model::NeighbourQuery query) = 0;

  virtual Task<std::vector<model::Watchpoint>> Watchpoints() = 0;
  virtual Task<model::Watchpoint> GetWatchpoint(uint32_t id) = 0;
  virtual Task<model::Watchpoint> AddWatchpoint(model::WatchpointSpec spec) = 0;
  // The number of known nodes that the watchpoint would cover. Its condition
  // may lack parameters.
  virtual Task<model::SelectionPreview> PreviewWatchpoint(
      model::WatchpointSpec spec) = 0;
  virtual Task<model::Watchpoint> ChangeWatchpoint(
      uint32_t id, model::WatchpointChange change) = 0;
  virtual StatusTask RemoveWatchpoint(uint32_t id) = 0;
  // Creates the recommended watchpoints that do not exist yet.
  virtual Task<model::RecommendedSet> AddRecommended() = 0;

  virtual Task<model::HitPage> Hits(model::HitQuery query) = 0;
  // The likely cause of a hit. NOT_FOUND "unknown_hit".
  virtual Task<model::Diagnosis> Diagnose(uint64_t hit) = 0;
  // The first `limit` incidents.
  virtual Task<model::IncidentPage> Incidents(uint32_t limit) = 0;
  // The last `limit` hits that were stored, oldest first.
  virtual Task<std::vector<model::Hit>> NewestHits(uint32_t limit) = 0;

  virtual Task<std::vector<model::TensorSummary>> Tensors(std::string node,
                                                          uint32_t rank) = 0;
  // Waits for the agent. DEADLINE_EXCEEDED after 30 s.
  virtual Task<model::TensorValue> Tensor(model::TensorQuery query) = 0;
  // The known statistics of a tensor; available after the job has ended, too.
  // NOT_FOUND "unknown_node", "unknown_slot" or "unknown_rank".
  virtual Task<model::TensorHistory> History(std::string node, uint32_t slot,
                                             uint32_t rank) = 0;
  // The statistics of all tensors of the rank's current step, in the format of
  // proto/docs/step-statistics.md. Waits for the agent while the rank is
  // paused; otherwise, only what is known. NOT_FOUND "unknown_rank".
  virtual Task<std::string> StepStatistics(uint32_t rank) = 0;
  // Makes the node's outputs available at the first stop after the node has
  // executed again. If `capture` is not empty, a bundle of that execution is
  // also written on the machine of the job, for which it is the cause.
  // UNAVAILABLE "job_gone" if the rank is not connected.
  virtual StatusTask CatchTensors(std::string node, uint32_t rank,
                                  std::string capture) = 0;

  // What the tensors at the borders of modules were like over the steps. Empty
  // if the rank has reported nothing: its overview may be switched off.
  virtual Task<model::OverviewSummary> Overview(model::OverviewQuery query) = 0;
  virtual Task<model::OverviewMatrix> OverviewValues(
      model::OverviewQuery query, model::OverviewMeasure measure) = 0;
  // All steps of one module. NOT_FOUND "unknown_module".
  virtual Task<std::vector<model::OverviewPoint>> OverviewOf(
      uint32_t rank, std::string module) = 0;
  // When the ops of a step were called, of the newest one that was timed if it
  // is absent. NOT_FOUND "unknown_step", or "not_recorded" if this is a
  // recorded run.
  virtual Task<model::OverviewOps> OverviewOpsOf(
      uint32_t rank, std::optional<uint64_t> step) = 0;

  // The current recording of each rank. FAILED_PRECONDITION "invalid_state" if
  // this is a recorded run.
  virtual Task<model::JobRecording> GetRecording() = 0;
  // Switches the recording of all ranks between two steps. Waits until all
  // agree; errors as JobRecordings::Set.
  virtual Task<model::JobRecording> SetRecording(model::RecordingSpec spec) = 0;

  // Keeps the rules of the job for as long as the job exists; they replace
  // those that were kept before. UNAVAILABLE "not_kept" if they cannot be
  // stored now.
  virtual StatusTask KeepRules(model::KeptRules rules) = 0;
  virtual Task<model::KeptRules> Rules() = 0;
  // Publishes what a rule has found in the job's recording.
  virtual StatusTask PublishFinding(model::Finding finding) = 0;
  virtual StatusTask PublishLog(uint32_t rank, std::string level,
                                std::string message) = 0;
};

// Receives every event of every job, in order per job. Called on the job's
// strand, so it must not block.
using EventSink =
    std::function<void(const std::shared_ptr<const model::Event>&)>;

// All jobs of a server.
class Directory {
 public:
  virtual ~Directory() = default;

  virtual std::vector<std::shared_ptr<Job>> Jobs() const = 0;
  // Null if no job has this id.
  virtual std::shared_ptr<Job> Find(const std::string& id) const = 0;
  // FAILED_PRECONDITION while the job is alive.
  virtual StatusTask Forget(std::string id) = 0;

  // Passes events to `sink` until the returned handle is destroyed.
  virtual std::shared_ptr<void> Subscribe(EventSink sink) = 0;

  // Counts a user who looks at the job, by its id, until the returned handle
  // is destroyed. The job need not exist.
  virtual std::shared_ptr<void> AddViewer(std::string job) = 0;
  // The number of those who look at any job.
  virtual uint32_t CountViewers() const = 0;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_INTERFACES_H_
