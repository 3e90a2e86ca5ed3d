#include "agent/adapters/pytorch/op_follower.h"

#include <ATen/record_function.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>

namespace graphdbg::pytorch {

ThreadState& CurrentThread() {
  thread_local ThreadState state;
  return state;
}

void OpFollower::Attach(graphdbg_agent* agent, GraphState* graph,
                        FollowerHost* host) {
  agent_ = agent;
  graph_ = graph;
  host_ = host;
}

void OpFollower::DieOf(const std::exception& error) {
  Die();
  // PyTorch's errors go on with a stack trace.
  std::fprintf(
      stderr,
      "graphdbg: internal error, the program goes on undebugged: %.*s\n",
      static_cast<int>(std::strcspn(error.what(), "\n")), error.what());
}

bool OpFollower::Begin(const OpInfo& op, c10::ArrayRef<c10::IValue> arguments) {
  if (!op.node) return false;
  ThreadState& thread = CurrentThread();
  PlaceOp(&thread);
  if (thread.placement.ignored ||
      (thread.placement.outside && !thread.trains)) {
    return false;
  }
  const uint32_t node = NodeOf(op, thread.placement, LinkTo(thread));
  if (node == GraphState::kNoNode) return false;
  thread.execution.Begin(agent_, node, op, arguments);
  return true;
}

void OpFollower::PlaceOp(ThreadState* thread) {
  if (!thread->contexts.IsEvaluating(EvaluatedNode())) {
    thread->placement = thread->contexts.Place();
    return;
  }
  if (UpdateAutogradNode(&thread->evaluated)) {
    thread->evaluated_placement = graph_->BackwardOf(thread->evaluated);
  }
  thread->placement = thread->evaluated_placement;
}

// The autograd nodes that an op which starts now stands for.
ForwardLink OpFollower::LinkTo(const ThreadState& thread) {
  ForwardLink link;
  link.thread = at::RecordFunction::currentThreadId();
  link.next = NextSequence();
  // Made since the last op by no op: a Python autograd function, whose first
  // op stands for it.
  link.first = std::min(thread.known_sequence, link.next);
  link.makes_nodes = c10::GradMode::is_enabled();
  return link;
}

uint32_t OpFollower::NodeOf(const OpInfo& op, const Placement& placement,
                            const ForwardLink& link) {
  const NodeNames::Place place = graph_->CountOp(placement, op, link);
  if (place.node != 0) return place.node;
  // Without a lock: this may wait for the interpreter's.
  const SourceStack stack = host_->CaptureStack(placement);
  return graph_->DeclareOp(placement, op, place.position, stack, link);
}

void OpFollower::End(c10::ArrayRef<c10::IValue> results) {
  ThreadState& thread = CurrentThread();
  thread.known_sequence = NextSequence();
  host_->OnStatus(thread.execution.End(agent_, graph_, results));
}

void OpFollower::Abandon() {
  ThreadState& thread = CurrentThread();
  thread.known_sequence = NextSequence();
  thread.execution.Abandon();
}

}  // namespace graphdbg::pytorch
