#ifndef AGENT_ADAPTERS_PYTORCH_OP_TRACER_H_
#define AGENT_ADAPTERS_PYTORCH_OP_TRACER_H_

#include <ATen/record_function.h>

#include <atomic>

#include "agent/adapters/pytorch/autograd_node.h"
#include "agent/adapters/pytorch/context.h"
#include "agent/adapters/pytorch/execution.h"
#include "agent/adapters/pytorch/graph_state.h"
#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/op_values.h"
#include "agent/adapters/pytorch/step_state.h"
#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// Tracing state of one thread.
struct ThreadState {
  ContextStack contexts;
  Execution execution;
  // Whether this thread took the program's first step. Ops of other threads are
  // traced only inside modules, backward passes and optimizers.
  bool trains = false;
  // The mode of the model that this thread called last.
  graphdbg_mode mode = GRAPHDBG_MODE_UNKNOWN;
  Placement placement;
  // Whether a region of compiled code runs, which is a single op.
  bool in_region = false;
  // How many ops' kernels are running, each called by the one before; 0 outside
  // of ops. Ops that the kernel of an op calls are not traced.
  int op_depth = 0;
  // The node that the autograd engine evaluated last, and its position.
  AutogradNode evaluated;
  Placement evaluated_placement;
  bool evaluated_placed = false;
  // Autograd nodes up to this number existed when the last op ended.
  uint64_t known_sequence = 0;
  // The thread in PyTorch's numbering.
  const uint64_t id = at::RecordFunction::currentThreadId();

  void Enter(ContextKind kind, uint32_t scope) {
    contexts.Push({kind, scope, EvaluatedNode()});
  }
};

ThreadState& CurrentThread();

// Receives reports of the tracer.
class TracerHost {
 public:
  virtual ~TracerHost() = default;
  // Called before the first backward pass or optimizer step, on its thread.
  virtual void OnTrainingStarted(bool by_optimizer) = 0;
  // The source stack of this thread. Takes the interpreter's lock.
  virtual SourceStack CaptureStack(const Placement& placement) = 0;
  virtual void OnStatus(graphdbg_status status) = 0;
};

// Processes each op that is a node of the graph, regardless of the engine that
// intercepted it. Thread-safe; End() and Fail() must be called on the thread
// of Begin().
class OpTracer {
 public:
  void Attach(graphdbg_agent* agent, GraphState* graph, TracerHost* host);
  GraphState& graph() { return *graph_; }
  StepState& step() { return step_; }
  TracerHost& host() { return *host_; }

  // Called before an op runs on this thread, whose state is `thread`. Returns
  // whether the op is traced, so that End() or Fail() has to be called.
  bool Begin(ThreadState* thread, const OpInfo& op, OpValues arguments,
             ArgumentLifetime lifetime);
  // Called after the op has run. May wait for the user.
  void End(ThreadState* thread, OpValues results);
  // Called if the op has thrown, as Execution::Fail.
  void Fail(ThreadState* thread, OpValues arguments, const char* message);

  // Called when tracing of this thread's ops begins.
  static void Resume() { CurrentThread().known_sequence = NextSequence(); }

  // Stops tracing permanently. Takes no lock, so it may be called in a forked
  // child.
  void Disable() { disabled_.store(true, std::memory_order_relaxed); }
  bool disabled() const { return disabled_.load(std::memory_order_relaxed); }
  // Calls `body` unless disabled. An exception disables tracing.
  template <typename Body>
  void Guarded(Body body) {
    if (disabled()) return;
    const Overhead overhead(agent_);
    try {
      body();
    } catch (const std::exception& error) {
      DisableAfterError(error);
    }
  }

 private:
  // The time of its life counts as the debugger's.
  class Overhead {
   public:
    explicit Overhead(graphdbg_agent* agent) : agent_(agent) {
      graphdbg_begin_overhead(agent_);
    }
    ~Overhead() { graphdbg_end_overhead(agent_); }
    Overhead(const Overhead&) = delete;
    Overhead& operator=(const Overhead&) = delete;

   private:
    graphdbg_agent* const agent_;
  };

  void DisableAfterError(const std::exception& error);
  void PlaceOp(ThreadState* thread);
  static ForwardLink LinkTo(const ThreadState& thread);
  uint32_t NodeOf(const OpInfo& op, OpValues arguments, Placement placement,
                  const ForwardLink& link);
  StepContext StepContextOf(const ThreadState& thread) const;

  graphdbg_agent* agent_ = nullptr;
  GraphState* graph_ = nullptr;
  TracerHost* host_ = nullptr;
  StepState step_;
  std::atomic<bool> disabled_{false};
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_OP_TRACER_H_
