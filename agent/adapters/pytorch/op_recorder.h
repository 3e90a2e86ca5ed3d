#ifndef AGENT_ADAPTERS_PYTORCH_OP_RECORDER_H_
#define AGENT_ADAPTERS_PYTORCH_OP_RECORDER_H_

#include <ATen/record_function.h>

#include <atomic>
#include <mutex>

#include "agent/adapters/pytorch/context.h"
#include "agent/adapters/pytorch/execution.h"
#include "agent/adapters/pytorch/graph_state.h"
#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// What one thread is doing.
struct ThreadState {
  ContextStack contexts;
  Execution execution;
  // Depth inside the present leaf op; 0 outside. What runs inside a leaf op is
  // its kernel's own business.
  int leaf_depth = 0;
  // The number of a Python autograd function that runs, whose first op stands
  // for it; -1 if there is none.
  int64_t function_sequence = -1;
  // This thread took the program's first step. Other threads' ops count only
  // inside a module, a backward pass or an optimizer.
  bool trains = false;
  Placement placement;
};

ThreadState& CurrentThread();

// What the recorder reports to.
class RecorderHost {
 public:
  virtual ~RecorderHost() = default;
  // The first backward pass or optimizer step has come, on this thread.
  virtual void TrainingSeen(bool by_optimizer) = 0;
  // The source stack of what runs on this thread; takes the interpreter's
  // lock.
  virtual SourceStack CaptureStack(const Placement& placement) = 0;
  virtual void OnStatus(graphdbg_status status) = 0;
};

// Follows PyTorch through its RecordFunction callbacks, which cover every
// thread, Python and C++, forward, backward and optimizer.
//
// Attach once; the other functions on any thread.
class OpRecorder {
 public:
  void Attach(graphdbg_agent* agent, GraphState* graph, RecorderHost* host);

  // Whether ops are followed. Off costs nothing.
  void FollowOps(bool on);
  // TrainingSeen is not wanted any more.
  void Started();
  // Off for good: also after a fork, in the child, where no lock may be taken.
  void Die() { dead_.store(true, std::memory_order_relaxed); }

  // The callbacks' bodies.
  void StartOp(const at::RecordFunction& fn);
  void EndOp(const at::RecordFunction& fn);
  void StartRange(const at::RecordFunction& fn);
  void EndRange(const at::RecordFunction& fn);
  void StartBackward();
  bool dead() const { return dead_.load(std::memory_order_relaxed); }

 private:
  void StartNamedRange(const at::RecordFunction& fn, ThreadState* thread);
  uint32_t NodeOf(const OpInfo& op, const Placement& placement);

  graphdbg_agent* agent_ = nullptr;
  GraphState* graph_ = nullptr;
  RecorderHost* host_ = nullptr;
  std::atomic<bool> dead_{false};

  std::mutex mu_;
  bool following_ = false;
  at::CallbackHandle ops_ = at::INVALID_CALLBACK_HANDLE;
  at::CallbackHandle backward_ = at::INVALID_CALLBACK_HANDLE;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_OP_RECORDER_H_
