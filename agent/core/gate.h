// Where training threads stop. The one place that decides who runs.
//
//          Continue, Step, NextNode, ContinueTo
//        .--------------------------------------.
//        v                                      |
//     running -- execution point is due --> paused
//        |                                      |
//        '---------- Terminate, Open -----------'--> open for good
//
// An execution point is due if a watchpoint hit there, if the user runs up to
// it, or if a pause was asked for; if several hold, the reason that tells the
// most is reported: watchpoint, then node, then step, then user.
#ifndef AGENT_CORE_GATE_H_
#define AGENT_CORE_GATE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/core/host.h"
#include "agent/include/graphdbg/agent.h"
#include "proto/graphdbg/v1/control.pb.h"

namespace graphdbg::agent {

class Gate {
 public:
  enum class Mode { kFree, kSteps, kNextNode, kUntilNode };

  // What others need to follow.
  struct Needs {
    // Every node is an execution point to look at now.
    bool every_node = false;
    // The program may stop in the present step, so its tensors matter.
    bool tensors = false;
    // The node that the user runs until; 0 if none, or if it is not known yet.
    uint32_t awaited_node = 0;
    // New nodes may be the one that the user runs until.
    bool new_nodes = false;
    // The program is paused, and how often it was so far.
    bool paused = false;
    uint64_t pauses = 0;
  };

  struct Listener {
    // The state changed, or is told again. Called with the gate's lock held,
    // so in order: must not call the gate.
    std::function<void(const v1::StateUpdate&)> on_state;
    // A command has taken effect (OK) or was refused. As above.
    std::function<void(uint64_t command_id, const absl::Status&)> on_command;
    // Needs may be others now. Called without the lock.
    std::function<void()> on_needs;
  };

  // `host` must outlive the gate. Without a connection the gate does not close
  // unless `hold`: nobody could open it.
  Gate(const Host* host, Listener listener, bool hold);

  // --- Orders; any thread but those of training.

  // `awaited_node` is the resolved node of a ContinueTo; 0: it is not known.
  void Apply(const v1::Command& command, uint32_t awaited_node);
  // A node that can execute was declared. Any thread.
  void NodeDeclared(absl::string_view name, uint32_t node);
  void SetConnected(bool connected);
  // Lets a paused program go on.
  void Resume();
  // From now on nothing stops; with `terminate`, execution points answer
  // GRAPHDBG_TERMINATE. For good.
  void Open(bool terminate);

  // --- Execution points; training threads. They block while the gate is
  // closed. GRAPHDBG_OK, _TERMINATE or _INTERRUPTED.

  graphdbg_status Start(bool wait, const std::vector<uint32_t>& hits);
  // `hits` are the watchpoints that stop the program at this node.
  graphdbg_status AtNode(uint32_t node, const std::vector<uint32_t>& hits);
  // `hits` are the watchpoints that stop the program at this step's end.
  // `step` is the number of the step that has ended.
  graphdbg_status AtStepEnd(uint64_t step, const std::vector<uint32_t>& hits);

  // --- Questions; any thread.

  Needs needs() const;
  bool terminating() const;
  // The node that the user runs until; empty if none.
  std::string awaited() const;
  // The step under way or just ended, as in a StateUpdate.
  uint64_t step() const;
  // When it closed; absent while open.
  std::optional<std::chrono::steady_clock::time_point> closed_since() const;
  // Tells the state again if it is `running` and the step went on since it was
  // last told, or in any case with `always`. Nothing before Start.
  void ReportState(bool always);

  // While the program is paused: a lock that keeps it from going on, so that
  // its memory can be read; the pause's number goes to `pause`. Not owned if
  // the program runs. Hold it for milliseconds only.
  std::unique_lock<std::mutex> HoldPaused(uint64_t* pause);

 private:
  using Lock = std::unique_lock<std::mutex>;

  // With mu_ held.
  void Close(v1::PauseReason reason, uint32_t node,
             const std::vector<uint32_t>& watchpoints);
  void OpenForMode(Mode mode);
  bool MayClose() const;
  absl::Status Check(const v1::Command& command, uint32_t awaited_node) const;
  void Take(const v1::Command& command, uint32_t awaited_node);
  void AnswerPause();
  void Await(const std::string& name, uint32_t node);
  v1::StateUpdate State() const;
  void Report();
  graphdbg_status Answer() const;

  // Releases the lock and blocks while closed.
  graphdbg_status Wait(Lock* lock);

  const Host* const host_;
  const Listener listener_;
  const bool hold_;

  // Held by who reads the program's memory; taken by each thread before it
  // leaves a wait. Taken before mu_ where both are.
  std::mutex reading_mu_;

  mutable std::mutex mu_;
  std::condition_variable opened_;
  // All below guarded by mu_.
  bool started_ = false;
  bool connected_ = false;
  bool closed_ = false;
  bool open_for_good_ = false;
  bool terminate_ = false;
  Mode mode_ = Mode::kFree;
  // With kSteps: stop at the end of this step, and not for hits before it.
  uint64_t last_step_ = 0;
  bool past_hits_ = false;
  // With kUntilNode.
  std::string awaited_name_;
  uint32_t awaited_node_ = 0;
  enum class Asked { kNo, kAtStepEnd, kAnywhere };
  Asked pause_asked_ = Asked::kNo;
  // Pause commands that have not taken effect.
  std::vector<uint64_t> pause_commands_;
  uint64_t steps_ended_ = 0;
  // Of the present or last pause.
  v1::StateUpdate pause_;
  uint64_t pauses_ = 0;
  std::chrono::steady_clock::time_point closed_since_;
  uint64_t reported_step_ = 0;
  // A node of the step after steps_ended_ was an execution point.
  bool inside_step_ = false;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_GATE_H_
