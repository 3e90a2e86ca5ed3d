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
#include "server/mindspore/node_book.h"
#include "server/mindspore/profile.h"
#include "server/mindspore/view_desk.h"
#include "server/mindspore/watch_desk.h"
#include "server/session/agent_port.h"

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

// What has to outlive a restart of the server, beside the graphs.
struct DialogueState {
  std::string ms_version;
  std::string backend;
  Goal goal;
  uint64_t step = 0;
  bool inside_step = false;
  session::PauseReason reason = session::PauseReason::kStart;
  // A run command was sent to this client.
  bool ever_ran = false;
  std::map<int, WireWatchpoint> watchpoints;
  int last_number = 0;
};

// Not thread safe.
class Dialogue {
 public:
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
  // It has ended in good order.
  void Done(const debugger::Metadata& metadata);
  // It is gone: what it said and was not dealt with counts all the same.
  void Gone();

  // --- From the session ----------------------------------------------------

  void Order(const session::AgentOrder& order);
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
  std::vector<session::AgentReport> TakeReports();

  // The session has its last report.
  bool terminated() const { return terminated_; }
  bool has_graph() const { return has_graph_; }
  std::vector<debugger::WatchpointHit> TakeHits() {
    return std::exchange(hits_, {});
  }
  uint64_t step() const { return step_; }
  DialogueState Save() const;
  void Restore(const DialogueState& state);

 private:
  enum class Sent { kNothing, kRun, kRecheck, kOther };

  bool gpu() const { return backend_ == "GPU"; }
  void Learn(const debugger::Metadata& metadata);

  // --- Where it stands (dialogue_position.cc) --------------------------------
  // The run that was under way has come to a stop of the client's.
  void Arrived(const debugger::Metadata& metadata);
  bool IsInsideStep(const debugger::Metadata& metadata) const;
  // Hands on what was hit; returns the watchpoints for which to stop now.
  std::vector<uint32_t> DeliverHits();
  void DecideAboutStop(std::vector<uint32_t> hit_by);
  bool GoalIsReached() const;
  void Stop(session::PauseReason reason,
            std::vector<uint32_t> watchpoints = {});
  void ReportPaused(std::vector<uint32_t> watchpoints);
  void ReportRunning();

  // --- Commands --------------------------------------------------------------
  void On(const session::WelcomeOrder&) {}
  void On(const session::CommandOrder& order);
  void On(const session::SetWatchpointOrder& order);
  void On(const session::RemoveWatchpointOrder& order);
  void On(const session::TensorOrder& order) { views_.Ask(order); }
  void On(const session::CancelTensorOrder& order);
  void On(const session::CatchTensorOrder& order);
  absl::Status Start(const session::CommandOrder& order);
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
  bool wire_step_grows_ = false;
  std::string cur_node_;
  bool inside_step_ = false;
  // The kernel that ends a step, once known.
  std::string last_kernel_;
  bool has_graph_ = false;
  bool ever_asked_ = false;
  bool report_due_ = false;
  bool ever_ran_ = false;
  session::PauseReason reason_ = session::PauseReason::kStart;
  std::vector<debugger::WatchpointHit> hits_;
  uint64_t hit_order_ = 0;
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

  std::vector<session::AgentReport> reports_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_DIALOGUE_H_
