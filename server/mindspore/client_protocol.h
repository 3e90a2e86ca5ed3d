// The state of MindSpore's debugger protocol for one training process: what the
// process reports, what the job wants from it, and which command is the reply
// to its next wait-for-command call.
//
//   client ──► OnMetadata, OnGraphs, OnHit, tensors ──► TakeReports ──► job
//   client ──► OnWait ──► Next ──► client          HandleOrder ◄────── job
//
// Knows neither gRPC nor threads.
#ifndef SERVER_MINDSPORE_CLIENT_PROTOCOL_H_
#define SERVER_MINDSPORE_CLIENT_PROTOCOL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/mindspore/debugger.pb.h"
#include "server/jobs/agent_port.h"
#include "server/mindspore/node_table.h"
#include "server/mindspore/profile.h"
#include "server/mindspore/saved_client.pb.h"
#include "server/mindspore/tensor_fetcher.h"
#include "server/mindspore/watchpoint_sync.h"

namespace graphdbg::mindspore {

// How far the client should run.
struct Goal {
  enum class Kind { kStop, kSteps, kEndless, kNextNode, kToNode };
  Kind kind = Kind::kStop;
  // For kSteps: the step at whose end the client stops.
  uint64_t step = 0;
  // For kToNode: the node's name on the wire.
  std::string node;
};

// Not thread-safe.
class ClientProtocol {
 public:
  // Limit for the hits of one step.
  static constexpr size_t kMaxHits = 100'000;

  // `now_unix_nano` provides the time of hits.
  explicit ClientProtocol(std::function<int64_t()> now_unix_nano);

  // --- Calls from the client -----------------------------------------------

  // The first message of a session. A process may start several sessions.
  void OnMetadata(const debugger::Metadata& metadata);
  void OnGraphs(const std::vector<debugger::GraphProto>& graphs);
  // The hit is kept until OnWait(), because its step is unknown until then.
  void OnHit(debugger::WatchpointHit hit);
  TensorFetcher& tensors() { return tensors_; }
  // Limit for the nodes of all graphs that a client sends. A job's own limit is
  // lower, but the nodes of graphs that the job refused are known here.
  static constexpr size_t kMaxNodes = 2'000'000;
  // The client waits for a command.
  void OnWait(const debugger::Metadata& metadata);
  void OnHeartbeat();
  // The client has ended in a regular way.
  void OnDone(const debugger::Metadata& metadata);
  // The client is no longer connected. Its pending hits still count.
  void OnDisconnect();

  // --- Calls from the job --------------------------------------------------

  void HandleOrder(const jobs::AgentOrder& order);
  // The hits up to this number are stored: they need not be saved any more.
  void OnHitsStored(uint64_t through);
  // The client may run only while it is attached to a job, that is, once all
  // watchpoints are known.
  void set_attached(bool attached) { attached_ = attached; }
  // The next call from the client results in a report of its position.
  void RequestReport() { report_due_ = true; }
  // Lets the client run without debugging.
  void Release();

  // --- Results -------------------------------------------------------------

  // The reply to a client that waits for a command. Absent if there is none
  // yet. The protocol assumes that the reply will be sent.
  std::optional<debugger::EventReply> Next();
  // Reports for the job since the last call, in order.
  std::vector<jobs::AgentReport> TakeReports();

  // Whether the last report has been made.
  bool terminated() const { return terminated_; }
  bool has_graph() const { return has_graph_; }
  // The commands that the client does not support, with the reasons.
  std::map<model::ControlVerb, std::string> unsupported() const {
    return UnsupportedCommands(profile_, gpu());
  }
  std::vector<debugger::WatchpointHit> TakeHits() {
    return std::exchange(hits_, {});
  }
  uint64_t step() const { return step_; }

  // --- Restarts of the server (client_protocol_state.cc) -------------------

  SavedProtocol Save() const;
  // Call it before anything else. `graphs` are all graphs that the client has
  // sent, in order. The job is assumed to know them.
  void Restore(const SavedProtocol& saved,
               const std::vector<debugger::GraphProto>& graphs);
  // Reports the graphs again.
  void ReportGraphs(const std::vector<debugger::GraphProto>& graphs);
  // Whether the job has lost the graphs since the last call.
  bool TakeGraphsWanted() { return std::exchange(graphs_wanted_, false); }

 private:
  enum class Sent { kNothing, kRun, kRecheck, kOther };
  struct ReportedHit {
    uint64_t number = 0;
    uint64_t step = 0;
    debugger::WatchpointHit hit;
  };

  bool gpu() const { return backend_ == "GPU"; }
  void UpdateProfile(const debugger::Metadata& metadata);

  // --- Position (client_protocol_position.cc) ------------------------------
  // Updates the position after a run command.
  void OnRunFinished(const debugger::Metadata& metadata);
  bool IsInsideStep(const debugger::Metadata& metadata) const;
  // Whether the client reports the position that it had before the last run
  // command. Only valid for clients that count their steps.
  bool HasNotMoved(const debugger::Metadata& metadata) const;
  // Converts the client's step number into the job's.
  uint64_t StepOf(const debugger::Metadata& metadata) const;
  // Reports the pending hits. Returns the watchpoints for which the client
  // should stop now.
  std::vector<uint32_t> DeliverHits();
  // Reports a hit with its number and step.
  void Report(const ReportedHit& reported, const NodeEntry& node);
  void RestoreHits(const SavedProtocol& saved);
  void StopIfNeeded(std::vector<uint32_t> hit_by);
  bool GoalIsReached() const;
  void Stop(model::PauseReason reason, std::vector<uint32_t> watchpoints = {});
  void ReportPaused();
  void ReportRunning();

  // --- Commands ------------------------------------------------------------
  void On(const jobs::WelcomeOrder& order);
  void On(const jobs::CommandOrder& order);
  void On(const jobs::SetWatchpointOrder& order);
  void On(const jobs::RemoveWatchpointOrder& order);
  void On(const jobs::TensorOrder& order) { tensors_.Submit(order); }
  void On(const jobs::CancelTensorOrder& order);
  void On(const jobs::CatchTensorOrder& order);
  // MindSpore's clients do not keep hits.
  void On(const jobs::HitsRecordedOrder&) {}
  // Never sent: the client does not offer it.
  void On(const jobs::SetRecordingOrder&) {}
  // MindSpore's clients do not report what ranks can be compared by.
  void On(const jobs::FindingOrder&) {}
  void On(const jobs::NeededGraphOrder&) {}
  absl::Status Start(const jobs::CommandOrder& order);
  absl::StatusOr<std::string> WireNodeOf(const std::string& node) const;
  void Answer(uint64_t command_id, absl::Status status = absl::OkStatus());
  debugger::EventReply RunReply();

  const std::function<int64_t()> now_unix_nano_;
  NodeTable nodes_;
  WatchpointSync watchpoints_{nodes_};
  TensorFetcher tensors_{nodes_};

  std::string ms_version_;
  std::string backend_;
  Profile profile_;
  bool attached_ = false;
  bool released_ = false;
  bool terminating_ = false;
  bool terminated_ = false;

  // --- Position
  uint64_t step_ = 0;
  // The client's own step number, and whether it has ever increased.
  int32_t wire_step_ = 0;
  // The difference between the job's step number and the client's, which starts
  // over with each session of the process.
  uint64_t steps_before_ = 0;
  // The number of steps, 0 or 1, that the client counts only after it has
  // stopped at their end.
  uint64_t steps_late_ = 0;
  bool wire_step_grows_ = false;
  std::string cur_node_;
  bool inside_step_ = false;
  // The kernel that ends a step, once it is known.
  std::string last_kernel_;
  bool has_graph_ = false;
  bool graphs_wanted_ = false;
  bool ever_waited_ = false;
  bool report_due_ = false;
  bool ever_ran_ = false;
  model::PauseReason reason_ = model::PauseReason::kStart;
  // The step of the last stop, and the watchpoints that caused it.
  uint64_t stopped_at_ = 0;
  std::vector<uint32_t> stopped_by_;
  std::vector<debugger::WatchpointHit> hits_;
  bool reported_dropped_hits_ = false;
  uint64_t hit_order_ = 0;
  // Hits that have been reported but may not be stored yet, in the order of
  // their numbers. At most kMaxHits, the newest.
  std::deque<ReportedHit> reported_hits_;
  // Watchpoints that were hit inside a step and stop the client at its end.
  std::vector<uint32_t> stop_at_step_end_;

  // --- Commands
  Sent sent_ = Sent::kNothing;
  Goal goal_;
  bool pause_wanted_ = false;
  uint64_t pause_command_ = 0;
  // Whether the client has received watchpoints that it has not checked yet.
  bool unchecked_ = false;
  bool recheck_wanted_ = false;
  // The user's recheck command; 0 for the automatic one before the first step.
  uint64_t recheck_command_ = 0;

  std::vector<jobs::AgentReport> reports_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_CLIENT_PROTOCOL_H_
