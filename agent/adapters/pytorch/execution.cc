#include "agent/adapters/pytorch/execution.h"

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

}  // namespace

void Execution::Begin(graphdbg_agent* agent, GraphState* graph,
                      const Tape::OpPlace& place, const OpInfo& op,
                      OpValues arguments) {
  op_ = &op;
  node_ = place.node;
  interested_ = graphdbg_interest(agent, node_) != 0;
  if (interested_ || op.returns_nothing) CollectArguments(op, arguments);
  if (interested_) {
    has_intentional_non_finite_ =
        op.fills && HasIntentionalNonFinite(arguments);
  }
  taped_ = graph->tape().Begin(op, place, interested_, arguments);
  graphdbg_begin_op(agent, node_);
}

void Execution::CollectArguments(const OpInfo& op, OpValues arguments) {
  for (size_t i = 0; i < arguments.size() && i < op.written.size(); ++i) {
    if (op.returns_nothing && op.written[i]) {
      AddTensors(arguments[i], &outputs_);
    }
    if (interested_ && !op.out_only[i]) AddTensors(arguments[i], &inputs_);
  }
  inputs_.Finish();
}

graphdbg_status Execution::End(graphdbg_agent* agent, GraphState* graph,
                               const StepContext& step_context,
                               OpValues results) {
  graphdbg_end_op(agent);
  graph->tape().End(taped_, results);
  if (!op_->returns_nothing) {
    if (op_->has_auxiliary_results) results = results.slice(0, 1);
    for (const OpValue& value : results) AddTensors(value, &outputs_);
  }
  outputs_.Finish();
  described_inputs_.resize(inputs_.size());
  graph->EndOp(node_, inputs_, described_inputs_.data(), outputs_,
               op_->in_place);
  graphdbg_status status = GRAPHDBG_OK;
  if (interested_) {
    graphdbg_execution execution = {};
    execution.struct_size = sizeof(execution);
    execution.node = node_;
    execution.flags = Flags();
    execution.inputs = described_inputs_.data();
    execution.input_count = described_inputs_.size();
    execution.outputs = outputs_.data();
    execution.output_count = outputs_.size();
    execution.grad_scale = step_context.grad_scale;
    execution.micro_step = step_context.micro_step;
    execution.mode = step_context.mode;
    status = graphdbg_executed(agent, &execution);
  }
  Clear();
  return status;
}

void Execution::Fail(graphdbg_agent* agent, GraphState* graph,
                     OpValues arguments, const char* message) {
  graphdbg_end_op(agent);
  if (!interested_) {
    interested_ = true;
    CollectArguments(*op_, arguments);
  }
  outputs_.Clear();
  described_inputs_.resize(inputs_.size());
  graph->EndOp(node_, inputs_, described_inputs_.data(), outputs_,
               /*overwrote=*/false);
  graphdbg_execution execution = {};
  execution.struct_size = sizeof(execution);
  execution.node = node_;
  execution.inputs = described_inputs_.data();
  execution.input_count = described_inputs_.size();
  execution.error = message;
  graphdbg_executed(agent, &execution);
  Clear();
}

uint32_t Execution::Flags() const {
  uint32_t flags = op_->flags;
  if (has_intentional_non_finite_) flags |= GRAPHDBG_EXPLICIT_NONFINITE;
  if (op_->in_place || OverwroteInput()) flags |= GRAPHDBG_IN_PLACE;
  // A conversion to a narrower type can overflow.
  if (outputs_.size() > 0 && IsFloating(outputs_[0].dtype)) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (IsFloating(inputs_[i].dtype) &&
          inputs_[i].dtype != outputs_[0].dtype) {
        flags &= ~static_cast<uint32_t>(GRAPHDBG_MOVES_VALUES);
      }
    }
  }
  return flags;
}

bool Execution::OverwroteInput() const {
  // Only out= variants do so without declaring it; views merely share memory.
  if (!op_->has_out) return false;
  for (size_t out = 0; out < outputs_.size(); ++out) {
    for (size_t in = 0; in < inputs_.size(); ++in) {
      if (outputs_.storage(out) == inputs_.storage(in)) return true;
    }
  }
  return false;
}

void Execution::Clear() {
  op_ = nullptr;
  interested_ = false;
  has_intentional_non_finite_ = false;
  inputs_.Clear();
  outputs_.Clear();
}

}  // namespace graphdbg::pytorch
