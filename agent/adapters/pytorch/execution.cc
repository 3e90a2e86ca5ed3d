#include "agent/adapters/pytorch/execution.h"

#include <algorithm>
#include <utility>

#include "agent/adapters/pytorch/intentional_fill.h"

namespace graphdbg::pytorch {
namespace {

// Adds the readable tensors of a value; flattens lists.
void AddTensors(const OpValue& value, TensorList* out) {
  value.ForEachTensor([out](const at::Tensor& tensor, int32_t) {
    c10::StorageImpl* const storage = PlainStorage(tensor);
    if (storage == nullptr) return;
    // A scalar that PyTorch converted to a tensor.
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) return;
    out->Add(tensor, storage);
  });
}

bool IsFloating(graphdbg_dtype dtype) {
  return (dtype >= GRAPHDBG_FLOAT16 && dtype <= GRAPHDBG_COMPLEX128) ||
         dtype == GRAPHDBG_FLOAT8_E4M3FN || dtype == GRAPHDBG_FLOAT8_E5M2;
}

uint64_t TypeBit(graphdbg_dtype dtype) {
  return IsFloating(dtype) ? uint64_t{1} << dtype : 0;
}

uint64_t FloatingTypesOf(OpValues arguments) {
  uint64_t types = 0;
  for (const OpValue& argument : arguments) {
    argument.ForEachTensor([&types](const at::Tensor& tensor, int32_t) {
      if (!tensor.defined() ||
          tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
        return;
      }
      types |= TypeBit(DtypeOf(tensor.scalar_type()).dtype);
    });
  }
  return types;
}

}  // namespace

void Execution::Begin(graphdbg_agent* agent, GraphState* graph,
                      const Tape::OpPlace& place, const OpInfo& op,
                      OpValues arguments, ArgumentLifetime lifetime) {
  op_ = &op;
  graph_ = graph;
  place_ = place;
  arguments_ = arguments;
  interested_ = graphdbg_interest(agent, place.node) != 0;
  if (interested_) {
    has_intentional_non_finite_ =
        op.fills && HasIntentionalNonFinite(arguments);
    if ((op.flags & GRAPHDBG_MOVES_VALUES) != 0) {
      moved_types_ = FloatingTypesOf(arguments);
    }
  }
  const bool drops_arguments = lifetime == ArgumentLifetime::kKernel;
  if (drops_arguments || graph->tape().keeps_inputs()) {
    taped_ = graph->tape().Begin(op, place, interested_, arguments);
  }
  if (drops_arguments) {
    if (interested_) CollectInputs();
    inputs_.Own();
    if (op.returns_nothing) CollectOutputs({});
    outputs_.Own();
    arguments_ = {};
  }
  graphdbg_begin_op(agent, place.node);
}

void Execution::CollectInputs() {
  if (std::exchange(has_inputs_, true)) return;
  const size_t count = std::min(arguments_.size(), op_->out_only.size());
  for (size_t i = 0; i < count; ++i) {
    if (!op_->out_only[i]) AddTensors(arguments_[i], &inputs_);
  }
}

void Execution::CollectOutputs(OpValues results) {
  if (!op_->returns_nothing) {
    if (op_->has_auxiliary_results) results = results.slice(0, 1);
    for (const OpValue& value : results) AddTensors(value, &outputs_);
    return;
  }
  const size_t count = std::min(arguments_.size(), op_->written.size());
  for (size_t i = 0; i < count; ++i) {
    if (op_->written[i]) AddTensors(arguments_[i], &outputs_);
  }
}

graphdbg_status Execution::End(graphdbg_agent* agent,
                               const StepContext& step_context,
                               OpValues results) {
  graphdbg_end_op(agent);
  if (taped_) {
    graph_->tape().End(*taped_, results);
  } else {
    graph_->tape().Add(*op_, place_, interested_, arguments_, results);
  }
  CollectOutputs(results);
  graphdbg_status status = GRAPHDBG_OK;
  if (interested_) {
    graphdbg_execution execution = Describe();
    execution.flags = Flags();
    execution.outputs = outputs_.data();
    execution.output_count = outputs_.size();
    execution.grad_scale = step_context.grad_scale;
    execution.micro_step = step_context.micro_step;
    execution.mode = step_context.mode;
    status = graphdbg_executed(agent, &execution);
  }
  // Not before, because they may replace producers of inputs.
  graph_->RecordOutputs(place_.node, outputs_, op_->in_place);
  Clear();
  return status;
}

void Execution::Fail(graphdbg_agent* agent, OpValues arguments,
                     const char* message) {
  graphdbg_end_op(agent);
  if (!interested_ && arguments_.empty()) arguments_ = arguments;
  if (!taped_) {
    graph_->tape().Begin(*op_, place_, interested_, arguments_);
  }
  outputs_.Clear();
  graphdbg_execution execution = Describe();
  execution.error = message;
  graphdbg_executed(agent, &execution);
  Clear();
}

graphdbg_execution Execution::Describe() {
  graphdbg_execution execution = {};
  execution.struct_size = sizeof(execution);
  execution.node = place_.node;
  execution.describe_inputs = &DescribeInputs;
  execution.describe_inputs_context = this;
  return execution;
}

size_t Execution::DescribeInputs(void* execution,
                                 const graphdbg_input** inputs) {
  auto& self = *static_cast<Execution*>(execution);
  self.CollectInputs();
  self.described_inputs_.resize(self.inputs_.size());
  self.graph_->DescribeInputs(self.inputs_, self.described_inputs_.data());
  *inputs = self.described_inputs_.data();
  return self.inputs_.size();
}

uint32_t Execution::Flags() const {
  uint32_t flags = op_->flags;
  if (has_intentional_non_finite_) flags |= GRAPHDBG_EXPLICIT_NONFINITE;
  if (op_->in_place || OverwroteInput()) flags |= GRAPHDBG_IN_PLACE;
  if (ReturnedViews()) flags |= GRAPHDBG_VIEW;
  // A conversion to a narrower type can overflow.
  if (moved_types_ != 0 && outputs_.size() > 0 &&
      IsFloating(outputs_[0].dtype) &&
      moved_types_ != TypeBit(outputs_[0].dtype)) {
    flags &= ~static_cast<uint32_t>(GRAPHDBG_MOVES_VALUES);
  }
  return flags;
}

bool Execution::OverwroteInput() const {
  // Only out= variants do so without declaring it; views merely share memory.
  // They are not among the typed kernels, so that the inputs are there.
  if (!op_->has_out) return false;
  for (size_t out = 0; out < outputs_.size(); ++out) {
    for (size_t in = 0; in < inputs_.size(); ++in) {
      if (outputs_.storage(out) == inputs_.storage(in)) return true;
    }
  }
  return false;
}

bool Execution::ReturnedViews() const {
  if (!op_->may_return_views || outputs_.empty()) return false;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!HasArgumentOf(outputs_.storage(i))) return false;
  }
  return true;
}

bool Execution::HasArgumentOf(const c10::StorageImpl* storage) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_.storage(i) == storage) return true;
  }
  bool found = false;
  for (const OpValue& argument : arguments_) {
    argument.ForEachTensor([&](const at::Tensor& tensor, int32_t) {
      found |= PlainStorage(tensor) == storage;
    });
  }
  return found;
}

void Execution::Clear() {
  op_ = nullptr;
  interested_ = false;
  has_inputs_ = false;
  arguments_ = {};
  taped_.reset();
  has_intentional_non_finite_ = false;
  moved_types_ = 0;
  inputs_.Clear();
  outputs_.Clear();
}

}  // namespace graphdbg::pytorch
