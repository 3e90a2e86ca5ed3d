// One training process's side of the debugger's conversation: what it reports,
// what the session wants of it, and which command answers its next "what now?".
//
//   client ──► Met, Graphs, Hits, tensors ──► TakeReports ──► session
//   client ──► Asks ──► Next ──► client        Order  ◄────── session
#ifndef SERVER_MINDSPORE_DIALOGUE_H_
#define SERVER_MINDSPORE_DIALOGUE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/mindspore/debugger.pb.h"
#include "server/jobs/agent_port.h"
#include "server/mindspore/node_book.h"
#include "server/mindspore/profile.h"
#include "server/mindspore/saved_client.pb.h"
#include "server/mindspore/view_desk.h"
#include "server/mindspore/watch_desk.h"

namespace graphdbg::mindspore {

// How far a job was told to run.
struct Goal {
  enum class Kind { kStop, kSteps, kEndless, kNextNode, kToNode };
  Kind kind = Kind::kStop;
  // kSteps: the step at whose end it stops.
  uint64_t step = 0;
  // kToNode: the node on the wire.
  std::string node;
};

// Not thread safe.
class Dialogue {
 public:
  // Of one step.
  static constexpr size_t kMaxHits = 100'000;

  // What a hit's time is taken from; Unix time in nanoseconds.
  explicit Dialogue(std::function<int64_t()> now_unix_nano);

  // --- From the client -----------------------------------------------------

  // Its first words, or those of a new session of the same process.
  void Met(const debugger::Metadata& metadata);
  void Graphs(const std::vector<debugger::GraphProto>& graphs);
  // Kept until the client asks: only then is the step known.
  void Hit(debugger::WatchpointHit hit);
  ViewDesk& views() { return views_; }
  // "What now?"
  void Asks(const debugger::Metadata& metadata);
  // It says nothing but that it is there, and is not known to wait.
  void Alive();
  // It has ended in good order.
  void Done(const debugger::Metadata& metadata);
  // It is gone: what it said and was not dealt with counts all the same.
  void Gone();

  // --- From the session ----------------------------------------------------

  void Order(const jobs::AgentOrder& order);
  // What was reported is dealt with: hits need not be reported again.
  void ReportsAreKept() { told_hits_.clear(); }
  // All watchpoints are known: the job may run. Until then it is held.
  void set_attached(bool attached) { attached_ = attached; }
  // The session has lost sight of the client and has to hear where it stands.
  void Rejoined() { report_due_ = true; }
  // Nobody debugs it any more: it runs on by itself.
  void Release();

  // --- To both -------------------------------------------------------------

  // The answer to a client that asks; absent: nothing to do but wait. Counts as
  // sent.
  std::optional<debugger::EventReply> Next();
  // For the session, in order, since the last call.
  std::vector<jobs::AgentReport> TakeReports();

  // The session has its last report.
  bool terminated() const { return terminated_; }
  bool has_graph() const { return has_graph_; }
  // What the client cannot do, and why.
  std::map<model::ControlVerb, std::string> unsupported() const {
    return UnsupportedCommands(profile_, gpu());
  }
  std::vector<debugger::WatchpointHit> TakeHits() {
    return std::exchange(hits_, {});
  }
  uint64_t step() const { return step_; }

  // --- Over a restart of the server (dialogue_state.cc) ----------------------

  SavedDialogue Save() const;
  // `graphs` are all that the client has sent, in that order. Before anything
  // else; the session is taken to know the graphs already.
  void Restore(const SavedDialogue& saved,
               const std::vector<debugger::GraphProto>& graphs);
  // The session has forgotten the graphs.
  void TellGraphs(const std::vector<debugger::GraphProto>& graphs);
  // Whether it has, since the last call.
  bool TakeGraphsWanted() { return std::exchange(graphs_wanted_, false); }

 private:
  enum class Sent { kNothing, kRun, kRecheck, kOther };

  bool gpu() const { return backend_ == "GPU"; }
  void Learn(const debugger::Metadata& metadata);

  // --- Where it stands (dialogue_position.cc) --------------------------------
  // The run that was under way has come to a stop of the client's.
  void Arrived(const debugger::Metadata& metadata);
  bool IsInsideStep(const debugger::Metadata& metadata) const;
  // It says what it said before it was told to run, where that would change.
  bool StandsStill(const debugger::Metadata& metadata) const;
  // The job's step, by the client's number.
  uint64_t StepOf(const debugger::Metadata& metadata) const;
  // Hands on what was hit; returns the watchpoints for which to stop now.
  std::vector<uint32_t> DeliverHits();
  void DecideAboutStop(std::vector<uint32_t> hit_by);
  bool GoalIsReached() const;
  void Stop(model::PauseReason reason, std::vector<uint32_t> watchpoints = {});
  void ReportPaused();
  void ReportRunning();

  // --- Commands --------------------------------------------------------------
  void On(const jobs::WelcomeOrder& order);
  void On(const jobs::CommandOrder& order);
  void On(const jobs::SetWatchpointOrder& order);
  void On(const jobs::RemoveWatchpointOrder& order);
  void On(const jobs::TensorOrder& order) { views_.Ask(order); }
  void On(const jobs::CancelTensorOrder& order);
  void On(const jobs::CatchTensorOrder& order);
  absl::Status Start(const jobs::CommandOrder& order);
  absl::StatusOr<std::string> WireNodeOf(const std::string& node) const;
  void Answer(uint64_t command_id, absl::Status status = absl::OkStatus());
  debugger::EventReply RunReply();

  const std::function<int64_t()> now_unix_nano_;
  NodeBook book_;
  WatchDesk watch_{book_};
  ViewDesk views_{book_};

  std::string ms_version_;
  std::string backend_;
  Profile profile_;
  bool attached_ = false;
  bool released_ = false;
  bool terminating_ = false;
  bool terminated_ = false;

  // --- Where it stands
  uint64_t step_ = 0;
  // The client's own number, and whether it has been seen to grow.
  int32_t wire_step_ = 0;
  // What the job's number is above the client's, which begins anew with each
  // session of its process.
  uint64_t steps_before_ = 0;
  // How many steps the client counts only after it has stopped at their end: 0
  // or 1.
  uint64_t steps_late_ = 0;
  bool wire_step_grows_ = false;
  std::string cur_node_;
  bool inside_step_ = false;
  // The kernel that ends a step, once known.
  std::string last_kernel_;
  bool has_graph_ = false;
  bool graphs_wanted_ = false;
  bool ever_asked_ = false;
  bool report_due_ = false;
  bool ever_ran_ = false;
  model::PauseReason reason_ = model::PauseReason::kStart;
  // Where it stopped last, and the watchpoints that stopped it there.
  uint64_t stopped_at_ = 0;
  std::vector<uint32_t> stopped_by_;
  std::vector<debugger::WatchpointHit> hits_;
  bool told_of_dropped_hits_ = false;
  uint64_t hit_order_ = 0;
  // Reported, and not known to be kept; what was counted before them.
  std::vector<debugger::WatchpointHit> told_hits_;
  uint64_t order_before_told_ = 0;
  // Hit inside a step that is to be finished first.
  std::vector<uint32_t> stop_at_step_end_;

  // --- What it was told
  Sent sent_ = Sent::kNothing;
  Goal goal_;
  bool pause_wanted_ = false;
  uint64_t pause_command_ = 0;
  // Watchpoints the client has got since it last checked all.
  bool unchecked_ = false;
  bool recheck_wanted_ = false;
  // Of the recheck that people asked for; 0: our own before the first step.
  uint64_t recheck_command_ = 0;

  std::vector<jobs::AgentReport> reports_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_DIALOGUE_H_
