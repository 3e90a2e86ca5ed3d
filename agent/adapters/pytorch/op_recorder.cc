#include "agent/adapters/pytorch/op_recorder.h"

#include <ATen/Parallel.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include "agent/adapters/pytorch/autograd_node.h"

namespace graphdbg::pytorch {
namespace {

// Set once, before any callback is registered.
OpRecorder* recorder = nullptr;

// Runs `body` so that nothing of ours reaches PyTorch.
template <typename Body>
void Guarded(Body body) {
  if (recorder->dead()) return;
  try {
    body();
  } catch (const std::exception& error) {
    recorder->Die();
    std::fprintf(stderr,
                 "graphdbg: internal error, the program goes on undebugged: "
                 "%s\n",
                 error.what());
  }
}

using Observer = std::unique_ptr<at::ObserverContext>;

Observer OnStartOp(const at::RecordFunction& fn) {
  Guarded([&fn] { recorder->StartOp(fn); });
  return nullptr;
}
void OnEndOp(const at::RecordFunction& fn, at::ObserverContext*) {
  Guarded([&fn] { recorder->EndOp(fn); });
}
Observer OnStartRange(const at::RecordFunction& fn) {
  Guarded([&fn] { recorder->StartRange(fn); });
  return nullptr;
}
void OnEndRange(const at::RecordFunction& fn, at::ObserverContext*) {
  Guarded([&fn] { recorder->EndRange(fn); });
}
Observer OnStartBackward(const at::RecordFunction&) {
  Guarded([] { recorder->StartBackward(); });
  return nullptr;
}

bool StartsWith(const char* text, std::string_view prefix) {
  return std::strncmp(text, prefix.data(), prefix.size()) == 0;
}

// The engine's range around the evaluation of one autograd node.
bool IsEvaluation(const char* name) {
  return StartsWith(name, "autograd::engine::evaluate_function: ");
}

// The class in "Optimizer.step#SGD.step"; empty for other ranges.
std::string_view OptimizerClass(std::string_view range) {
  constexpr std::string_view kPrefix = "Optimizer.";
  if (range.substr(0, kPrefix.size()) != kPrefix) return {};
  const size_t mark = range.find('#');
  if (mark == std::string_view::npos) return {};
  const size_t dot = range.rfind('.');
  return range.substr(mark + 1, dot - mark - 1);
}

bool IsDataLoading(const char* range) {
  return StartsWith(range, "enumerate(DataLoader)#");
}

}  // namespace

ThreadState& CurrentThread() {
  thread_local ThreadState state;
  return state;
}

void OpRecorder::Attach(graphdbg_agent* agent, GraphState* graph,
                        RecorderHost* host) {
  agent_ = agent;
  graph_ = graph;
  host_ = host;
  recorder = this;
  using Callback = at::RecordFunctionCallback;
  const std::lock_guard<std::mutex> lock(mu_);
  at::addGlobalCallback(
      Callback(OnStartRange, OnEndRange).scopes({at::RecordScope::USER_SCOPE}));
  backward_ = at::addGlobalCallback(
      Callback(OnStartBackward).scopes({at::RecordScope::BACKWARD_FUNCTION}));
  ops_ = at::addGlobalCallback(Callback(OnStartOp, OnEndOp)
                                   .needsInputs(true)
                                   .needsOutputs(true)
                                   .scopes({at::RecordScope::FUNCTION}));
  at::disableCallback(ops_);
}

void OpRecorder::FollowOps(bool on) {
  const std::lock_guard<std::mutex> lock(mu_);
  if (on == following_ || ops_ == at::INVALID_CALLBACK_HANDLE) return;
  following_ = on;
  if (on) {
    at::reenableCallback(ops_);
  } else {
    at::disableCallback(ops_);
  }
}

void OpRecorder::Started() {
  const std::lock_guard<std::mutex> lock(mu_);
  at::disableCallback(backward_);
}

void OpRecorder::StartOp(const at::RecordFunction& fn) {
  ThreadState& thread = CurrentThread();
  if (thread.leaf_depth > 0) {
    ++thread.leaf_depth;
    return;
  }
  const OpInfo* const op = FindOp(fn);
  if (op == nullptr) {
    StartNamedRange(fn, &thread);
    return;
  }
  if (!op->leaf || at::in_parallel_region()) return;
  thread.leaf_depth = 1;
  if (!op->node || (thread.contexts.empty() && !thread.trains)) return;
  thread.placement = thread.contexts.Place();
  if (thread.placement.ignored) return;
  const uint32_t node = NodeOf(*op, thread.placement);
  if (node == GraphState::kNoNode) return;
  const int64_t sequence = fn.seqNr() >= 0
                               ? fn.seqNr()
                               : std::exchange(thread.function_sequence, -1);
  if (sequence >= 0) graph_->LinkForward(fn.threadId(), sequence, node);
  thread.execution.Begin(agent_, graph_, node, *op, fn);
}

void OpRecorder::StartNamedRange(const at::RecordFunction& fn,
                                 ThreadState* thread) {
  if (!IsEvaluation(fn.name())) {
    // A Python autograd function: its ops run without gradients, and so have
    // no number of their own.
    if (fn.seqNr() >= 0) thread->function_sequence = fn.seqNr();
    return;
  }
  AutogradNode node;
  if (!CurrentAutogradNode(&node)) {
    thread->contexts.Push({ContextKind::kBackward});
  } else if (node.leaf != nullptr) {
    thread->contexts.Push(graph_->BackwardOf(node.leaf));
  } else {
    thread->contexts.Push(graph_->BackwardOf(node.thread, node.sequence));
  }
}

uint32_t OpRecorder::NodeOf(const OpInfo& op, const Placement& placement) {
  const NodeNames::Place place = graph_->CountOp(placement, op);
  if (place.node != 0) return place.node;
  // Without a lock: this may wait for the interpreter's.
  const SourceStack stack = host_->CaptureStack(placement);
  return graph_->DeclareOp(placement, op, place.position, stack);
}

void OpRecorder::EndOp(const at::RecordFunction& fn) {
  ThreadState& thread = CurrentThread();
  if (thread.leaf_depth > 1) {
    --thread.leaf_depth;
    return;
  }
  if (thread.leaf_depth == 0) {
    if (IsEvaluation(fn.name())) {
      thread.contexts.Pop(ContextKind::kBackward);
    } else if (thread.function_sequence >= 0 && FindOp(fn) == nullptr) {
      thread.function_sequence = -1;
    }
    return;
  }
  if (thread.execution.active()) {
    // Inside the leaf still: what the agent's host does is not followed.
    host_->OnStatus(thread.execution.End(agent_, graph_, fn));
  }
  thread.leaf_depth = 0;
}

void OpRecorder::StartRange(const at::RecordFunction& fn) {
  ThreadState& thread = CurrentThread();
  const std::string_view optimizer = OptimizerClass(fn.name());
  if (!optimizer.empty()) {
    if (StartsWith(fn.name(), "Optimizer.step#")) host_->TrainingSeen(true);
    thread.contexts.Push(
        {ContextKind::kOptimizer, graph_->OptimizerScope(optimizer)});
  } else if (IsDataLoading(fn.name())) {
    thread.contexts.Push({ContextKind::kIgnored});
  }
}

void OpRecorder::EndRange(const at::RecordFunction& fn) {
  ThreadState& thread = CurrentThread();
  if (!OptimizerClass(fn.name()).empty()) {
    thread.contexts.Pop(ContextKind::kOptimizer);
  } else if (IsDataLoading(fn.name())) {
    thread.contexts.Pop(ContextKind::kIgnored);
  }
}

void OpRecorder::StartBackward() { host_->TrainingSeen(false); }

}  // namespace graphdbg::pytorch
