#ifndef AGENT_ADAPTERS_PYTORCH_OP_FOLLOWER_H_
#define AGENT_ADAPTERS_PYTORCH_OP_FOLLOWER_H_

#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>

#include <atomic>

#include "agent/adapters/pytorch/autograd_node.h"
#include "agent/adapters/pytorch/context.h"
#include "agent/adapters/pytorch/execution.h"
#include "agent/adapters/pytorch/graph_state.h"
#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/step_state.h"
#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// What one thread is doing.
struct ThreadState {
  ContextStack contexts;
  Execution execution;
  // This thread took the program's first step. Other threads' ops count only
  // inside a module, a backward pass or an optimizer.
  bool trains = false;
  // Of the model that this thread called last.
  graphdbg_mode mode = GRAPHDBG_MODE_UNKNOWN;
  Placement placement;
  // A region of compiled code runs: one op, whatever is in it.
  bool in_region = false;
  // What the autograd engine was last seen to evaluate, and where that is.
  AutogradNode evaluated;
  Placement evaluated_placement;
  bool evaluated_placed = false;
  // Autograd nodes up to this number were there when the last op ended.
  uint64_t known_sequence = 0;

  void Enter(ContextKind kind, uint32_t scope) {
    contexts.Push({kind, scope, EvaluatedNode()});
  }
};

ThreadState& CurrentThread();

// What the follower reports to.
class FollowerHost {
 public:
  virtual ~FollowerHost() = default;
  // The first backward pass or optimizer step has come, on this thread.
  virtual void TrainingSeen(bool by_optimizer) = 0;
  // The source stack of what runs on this thread; takes the interpreter's
  // lock.
  virtual SourceStack CaptureStack(const Placement& placement) = 0;
  virtual void OnStatus(graphdbg_status status) = 0;
};

// What is done at each op that is to be a node of the graph, however it was
// learned of. Any thread, but End on that of Begin.
class OpFollower {
 public:
  void Attach(graphdbg_agent* agent, GraphState* graph, FollowerHost* host);
  GraphState& graph() { return *graph_; }
  StepState& step() { return step_; }
  FollowerHost& host() { return *host_; }

  // An op is about to run on this thread. Null if it is nobody's business; else
  // the thread, which is for End or Abandon.
  ThreadState* Begin(const OpInfo& op, c10::ArrayRef<c10::IValue> arguments);
  // It has run. May wait for the user.
  void End(ThreadState* thread, c10::ArrayRef<c10::IValue> results);
  // It has thrown.
  void Abandon(ThreadState* thread);

  // From here on this thread's ops are followed.
  static void Resume() { CurrentThread().known_sequence = NextSequence(); }

  // Off for good: also after a fork, in the child, where no lock may be taken.
  void Die() { dead_.store(true, std::memory_order_relaxed); }
  bool dead() const { return dead_.load(std::memory_order_relaxed); }
  // Calls `body` unless dead; an exception of ours is the end, for us.
  template <typename Body>
  void Guarded(Body body) {
    if (dead()) return;
    try {
      body();
    } catch (const std::exception& error) {
      DieOf(error);
    }
  }

 private:
  void DieOf(const std::exception& error);
  void PlaceOp(ThreadState* thread);
  static ForwardLink LinkTo(const ThreadState& thread);
  uint32_t NodeOf(const OpInfo& op, c10::ArrayRef<c10::IValue> arguments,
                  Placement placement, const ForwardLink& link);
  Circumstances CircumstancesOf(const ThreadState& thread) const;

  graphdbg_agent* agent_ = nullptr;
  GraphState* graph_ = nullptr;
  FollowerHost* host_ = nullptr;
  StepState step_;
  std::atomic<bool> dead_{false};
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_OP_FOLLOWER_H_
