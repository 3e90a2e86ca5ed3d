#include "agent/adapters/pytorch/op_tracer.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

namespace graphdbg::pytorch {
namespace {

bool NeedsGradient(const OpValue& value) {
  bool needs = false;
  value.ForEachTensor([&needs](const at::Tensor& tensor, int32_t) {
    needs |= tensor.requires_grad();
  });
  return needs;
}

bool AnyNeedsGradient(OpValues arguments) {
  return std::any_of(arguments.begin(), arguments.end(), NeedsGradient);
}

// A pointer is read faster than an object that has a destructor.
thread_local ThreadState* state_of_thread = nullptr;

void MakeStateOfThread() {
  struct Owner {
    ~Owner() { delete std::exchange(state_of_thread, nullptr); }
  };
  // If ops run even later, their state is never destroyed.
  thread_local Owner owner;
  static_cast<void>(owner);
  state_of_thread = new ThreadState;
}

}  // namespace

ThreadState& CurrentThread() {
  if (state_of_thread == nullptr) MakeStateOfThread();
  return *state_of_thread;
}

void OpTracer::Attach(graphdbg_agent* agent, GraphState* graph,
                      TracerHost* host) {
  agent_ = agent;
  graph_ = graph;
  host_ = host;
}

void OpTracer::DisableAfterError(const std::exception& error) {
  Disable();
  // Messages of PyTorch's errors continue with a stack trace.
  std::fprintf(stderr,
               "graphdbg: internal error (%.*s); the program continues without "
               "debugging\n",
               static_cast<int>(std::strcspn(error.what(), "\n")),
               error.what());
}

bool OpTracer::Begin(ThreadState* thread, const OpInfo& op, OpValues arguments,
                     ArgumentLifetime lifetime) {
  if (!op.node || thread->in_region) return false;
  PlaceOp(thread);
  const Placement& placement = thread->placement;
  if (placement.ignored || (placement.outside && !thread->trains)) {
    return false;
  }
  const uint32_t node = NodeOf(op, arguments, placement, LinkTo(*thread));
  if (node == GraphState::kNoNode) return false;
  thread->execution.Begin(agent_, graph_,
                          {node, placement.phase == Phase::kOptimizer}, op,
                          arguments, lifetime);
  return true;
}

void OpTracer::PlaceOp(ThreadState* thread) {
  if (UpdateAutogradNode(&thread->evaluated)) thread->evaluated_placed = false;
  if (!thread->contexts.IsEvaluating(thread->evaluated.address)) {
    thread->placement = thread->contexts.Place();
    return;
  }
  if (!thread->evaluated_placed) {
    thread->evaluated_placement = graph_->BackwardOf(thread->evaluated);
    thread->evaluated_placed = true;
  }
  thread->placement = thread->evaluated_placement;
  // Backward ops run without recording. If recording is enabled, this is a part
  // of the forward pass (activation checkpointing), unless gradients of
  // gradients are being computed.
  if (c10::GradMode::is_enabled() && step_.graphs_in_creation.load() == 0) {
    thread->placement.category = GRAPHDBG_ACTIVATION;
    thread->placement.recomputed = true;
  }
}

// The autograd nodes that belong to an op that starts now.
ForwardLink OpTracer::LinkTo(const ThreadState& thread) {
  ForwardLink link;
  link.thread = thread.id;
  link.next = NextSequence();
  // Nodes created between two ops belong to a Python autograd function and are
  // attributed to its first op.
  link.first = std::min(thread.known_sequence, link.next);
  link.makes_nodes = c10::GradMode::is_enabled();
  return link;
}

uint32_t OpTracer::NodeOf(const OpInfo& op, OpValues arguments,
                          Placement placement, const ForwardLink& link) {
  const NodeNames::Place place = graph_->CountOp(placement, op, link);
  if (place.node != 0) return place.node;
  // Between the model and the backward pass; most likely a loss.
  if (placement.outside && link.makes_nodes && AnyNeedsGradient(arguments)) {
    placement.category = GRAPHDBG_ACTIVATION;
  }
  // Must not hold a lock, because this may wait for the interpreter's lock.
  const SourceStack stack = host_->CaptureStack(placement);
  return graph_->DeclareOp(placement, op, place.position, stack, link,
                           ScalarArgumentsOf(op, arguments));
}

StepContext OpTracer::StepContextOf(const ThreadState& thread) const {
  StepContext step_context;
  step_context.micro_step = step_.micro_step.load(std::memory_order_relaxed);
  step_context.mode =
      thread.placement.phase == Phase::kForward ? thread.mode : GRAPHDBG_TRAIN;
  if (thread.placement.category == GRAPHDBG_GRADIENT) {
    step_context.grad_scale = step_.grad_scale.load(std::memory_order_relaxed);
  }
  return step_context;
}

void OpTracer::End(ThreadState* thread, OpValues results) {
  thread->known_sequence = NextSequence();
  host_->OnStatus(
      thread->execution.End(agent_, StepContextOf(*thread), results));
}

void OpTracer::Fail(ThreadState* thread, OpValues arguments,
                    const char* message) {
  thread->known_sequence = NextSequence();
  thread->execution.Fail(agent_, arguments, message);
}

}  // namespace graphdbg::pytorch
