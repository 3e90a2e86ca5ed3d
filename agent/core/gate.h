// The gate at which training threads stop. It alone decides whether they run.
//
//          Continue, Step, NextNode, ContinueTo
//        .--------------------------------------.
//        v                                      |
//     running -- execution point is due --> paused
//        |                                      |
//        '---------- Terminate, Open -----------'--> open permanently
//
// After a pause at an exception, the program only ends.
//
// An execution point is due if a watchpoint hit there, if the user runs up to
// it, or if a pause was requested. If several reasons apply, the most specific
// one is reported: watchpoint, then node, then step, then user.
#ifndef AGENT_CORE_GATE_H_
#define AGENT_CORE_GATE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/base/mutex.h"
#include "agent/core/host.h"
#include "agent/core/node_goal.h"
#include "agent/core/node_table.h"
#include "agent/include/graphdbg/agent.h"
#include "proto/graphdbg/v1/control.pb.h"

namespace graphdbg::agent {

class Gate {
 public:
  enum class Mode { kFree, kSteps, kNextNode, kUntilNode };

  // Executions and values that the rest of the agent has to follow.
  struct Needs {
    // Every node is an execution point now.
    bool every_node = false;
    // The program may stop in the current step, so its tensors matter.
    bool tensors = false;
    // The node that the user runs until; 0 if none, or if it is not known yet.
    uint32_t awaited_node = 0;
    // A new node may be the one that the user runs until.
    bool new_nodes = false;
    // Whether the program is paused, and how often it has been so far.
    bool paused = false;
    uint64_t pauses = 0;
  };

  struct Listener {
    // The state changed, or is reported again. Called with the gate's lock
    // held, and therefore in order: must not call the gate.
    std::function<void(const v1::StateUpdate&)> on_state;
    // A command has taken effect (OK) or was refused. Called like on_state.
    std::function<void(uint64_t command_id, const absl::Status&)> on_command;
    // The needs may have changed. Called without the lock.
    std::function<void()> on_needs;
  };

  // Keeps a paused program from resuming, so that its memory can be read or
  // changed, and its ops repeated. Held for milliseconds, and during
  // experiments.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept { *this = std::move(other); }
    Hold& operator=(Hold&& other) noexcept {
      std::swap(mu_, other.mu_);
      std::swap(pause_, other.pause_);
      return *this;
    }
    ~Hold() { Release(); }

    // False if the program was running, which is then free to continue.
    bool held() const { return mu_ != nullptr; }
    // The number of the pause; 0 if it is not held.
    uint64_t pause() const { return pause_; }

    // The analysis cannot follow a lock whose owner moves. The lock guards no
    // fields, so that there is nothing to check.
    void Release() GRAPHDBG_NO_THREAD_SAFETY_ANALYSIS {
      if (mu_ != nullptr) std::exchange(mu_, nullptr)->Unlock();
    }

   private:
    friend class Gate;
    Hold(Mutex* mu, uint64_t pause) : mu_(mu), pause_(pause) {}

    Mutex* mu_ = nullptr;
    uint64_t pause_ = 0;
  };

  // `host` and `nodes` must outlive the gate. Without a connection the gate
  // does not close unless `hold` is set, because nobody could open it. At the
  // end of step `step_limit` and of those after it, the gate closes whatever
  // commands came before; 0 means no limit.
  Gate(const Host* host, const NodeTable* nodes, Listener listener, bool hold,
       uint64_t step_limit = 0);

  // --- Commands; any thread but the training threads.

  // `awaited_node` is the resolved node of a ContinueTo; 0 if it is not known.
  void Apply(const v1::Command& command, uint32_t awaited_node)
      GRAPHDBG_EXCLUDES(mu_);
  // A node that can execute was declared. Any thread.
  void NodeDeclared(absl::string_view name, uint32_t node)
      GRAPHDBG_EXCLUDES(mu_);
  void SetConnected(bool connected) GRAPHDBG_EXCLUDES(mu_);
  // Lets a paused program continue.
  void Resume() GRAPHDBG_EXCLUDES(mu_);
  // From now on nothing stops, permanently. With `terminate`, execution points
  // return GRAPHDBG_TERMINATE.
  void Open(bool terminate) GRAPHDBG_EXCLUDES(mu_);

  // --- Execution points; training threads. They block while the gate is
  // closed, and return GRAPHDBG_OK, _TERMINATE or _INTERRUPTED.

  graphdbg_status Start(bool wait, const std::vector<uint32_t>& hits)
      GRAPHDBG_EXCLUDES(mu_, reading_mu_);
  // `hits` are the watchpoints that stop the program at this node.
  graphdbg_status AtNode(uint32_t node, const std::vector<uint32_t>& hits)
      GRAPHDBG_EXCLUDES(mu_, reading_mu_);
  // `step` is the number of the step that has ended, and `hits` are the
  // watchpoints that stop the program at its end.
  graphdbg_status AtStepEnd(uint64_t step, const std::vector<uint32_t>& hits)
      GRAPHDBG_EXCLUDES(mu_, reading_mu_);

  // An exception ends the program, which stops so that it can be looked at. It
  // can only continue to its end.
  struct Failure {
    // The step in progress.
    uint64_t step = 0;
    // The node at which it happened; 0 if none.
    uint32_t node = 0;
    v1::ExceptionInfo exception;
    bool resume_if_unattended = false;
  };
  graphdbg_status AtFailure(const Failure& failure)
      GRAPHDBG_EXCLUDES(mu_, reading_mu_);

  // --- Queries; any thread.

  Needs needs() const GRAPHDBG_EXCLUDES(mu_);
  bool terminating() const GRAPHDBG_EXCLUDES(mu_);
  // The node that the user runs until; empty if none.
  std::string awaited() const GRAPHDBG_EXCLUDES(mu_);
  // The step in progress or just ended, as in a StateUpdate.
  uint64_t step() const GRAPHDBG_EXCLUDES(mu_);
  // When the gate closed; absent while it is open.
  std::optional<std::chrono::steady_clock::time_point> closed_since() const
      GRAPHDBG_EXCLUDES(mu_);
  // Reports the state again if it is `running` and the step has advanced since
  // the last report, or in any case with `always`. Has no effect before Start.
  void ReportState(bool always) GRAPHDBG_EXCLUDES(mu_);

  // The result holds the program if it is paused.
  Hold HoldPaused() GRAPHDBG_EXCLUDES(mu_, reading_mu_);

 private:
  enum class PauseRequest { kNone, kAtStepEnd, kAnywhere };

  void Close(v1::PauseReason reason, uint32_t node,
             const std::vector<uint32_t>& watchpoints) GRAPHDBG_REQUIRES(mu_);
  // Closes with this state as the current pause.
  void Close(v1::StateUpdate pause) GRAPHDBG_REQUIRES(mu_);
  void OpenForMode(Mode mode) GRAPHDBG_REQUIRES(mu_);
  bool MayClose() const GRAPHDBG_REQUIRES(mu_);
  // Whether the user runs to this node.
  bool IsGoal(uint32_t node) const GRAPHDBG_REQUIRES(mu_);
  // Whether the user runs to the end of this step.
  bool IsLastStep(uint64_t step) const GRAPHDBG_REQUIRES(mu_);
  bool IsAtLimit(uint64_t step) const GRAPHDBG_REQUIRES(mu_);
  absl::Status Check(const v1::Command& command, uint32_t awaited_node) const
      GRAPHDBG_REQUIRES(mu_);
  void Take(const v1::Command& command, uint32_t awaited_node)
      GRAPHDBG_REQUIRES(mu_);
  void AnswerPauseCommands() GRAPHDBG_REQUIRES(mu_);
  void Await(const std::string& name, uint32_t node) GRAPHDBG_REQUIRES(mu_);
  v1::StateUpdate State() const GRAPHDBG_REQUIRES(mu_);
  void Report() GRAPHDBG_REQUIRES(mu_);

  // The result of an execution point at an open gate.
  graphdbg_status Result() const GRAPHDBG_REQUIRES(mu_);
  // Blocks while the gate is closed.
  graphdbg_status WaitUntilOpen() GRAPHDBG_EXCLUDES(mu_, reading_mu_);

  const Host* const host_;
  const NodeTable* const nodes_;
  const Listener listener_;
  const bool hold_;
  const uint64_t step_limit_;

  // Held by a thread that reads the program's memory, and taken by each thread
  // of the program before it leaves a wait.
  Mutex reading_mu_ GRAPHDBG_ACQUIRED_BEFORE(mu_);

  mutable Mutex mu_;
  CondVar opened_;
  bool started_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool connected_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool closed_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool open_permanently_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool terminate_ GRAPHDBG_GUARDED_BY(mu_) = false;
  Mode mode_ GRAPHDBG_GUARDED_BY(mu_) = Mode::kFree;
  // With kSteps: stop at the end of this step, and ignore hits before it.
  uint64_t last_step_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  bool past_hits_ GRAPHDBG_GUARDED_BY(mu_) = false;
  // With kNextNode.
  NodeGoal goal_ GRAPHDBG_GUARDED_BY(mu_);
  // With kUntilNode.
  std::string awaited_name_ GRAPHDBG_GUARDED_BY(mu_);
  uint32_t awaited_node_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  PauseRequest pause_request_ GRAPHDBG_GUARDED_BY(mu_) = PauseRequest::kNone;
  // Pause commands that have not taken effect yet.
  std::vector<uint64_t> pause_commands_ GRAPHDBG_GUARDED_BY(mu_);
  uint64_t steps_ended_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  // The current or last pause.
  v1::StateUpdate pause_ GRAPHDBG_GUARDED_BY(mu_);
  uint64_t pauses_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  std::chrono::steady_clock::time_point closed_since_ GRAPHDBG_GUARDED_BY(mu_);
  uint64_t reported_step_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  // A node of the step after steps_ended_ was an execution point.
  bool inside_step_ GRAPHDBG_GUARDED_BY(mu_) = false;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_GATE_H_
