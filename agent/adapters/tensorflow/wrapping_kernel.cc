#include "agent/adapters/tensorflow/wrapping_kernel.h"

#include <utility>

#include "agent/adapters/tensorflow/adapter.h"
#include "agent/adapters/tensorflow/kernel_execution.h"

namespace graphdbg::tensorflow {
namespace {

bool HasOwnName(const ::tensorflow::NodeDef& node) {
  return node.experimental_debug_info().original_node_names_size() > 0;
}

// Whether a kernel may execute an op outside of functions. TensorFlow makes a
// function of the op, in which it has the name of its type.
bool MayBeEager(const ::tensorflow::NodeDef& node) {
  return node.name() == node.op() && !HasOwnName(node);
}

// Whether TensorFlow has replaced an op outside of functions by this one.
bool IsReplacement(const ::tensorflow::NodeDef& node) {
  return node.op().compare(0, 4, "_Mkl") == 0;
}

// Whether an op of this type may count steps: ASSIGNMENTS in op_types.py.
bool MayCount(const std::string& type) {
  return type == "AssignAddVariableOp" || type == "AssignVariableOp";
}

}  // namespace

WrappingKernel::WrappingKernel(::tensorflow::OpKernelConstruction* construction,
                               std::unique_ptr<::tensorflow::OpKernel> inner)
    : OpKernel(construction, inner->is_deferred()),
      inner_(std::move(inner)),
      may_be_eager_(MayBeEager(def())),
      may_count_(MayCount(type_string())) {}

void WrappingKernel::Compute(::tensorflow::OpKernelContext* context) {
  const Adapter& adapter = Adapter::Get();
  // Steps are counted while nothing is traced, too.
  if (adapter.traces_ops() || (may_count_ && adapter.counts_steps())) {
    ExecuteTraced(context);
  } else {
    Execute(context);
  }
}

void WrappingKernel::Execute(::tensorflow::OpKernelContext* context) {
  // Kernels look at it, for example for the memory types of their outputs.
  ::tensorflow::OpKernelContext::Params* const params = context->params();
  ::tensorflow::OpKernel* const before = params->op_kernel;
  params->op_kernel = inner_.get();
  inner_->Compute(context);
  params->op_kernel = before;
}

void WrappingKernel::ExecuteTraced(::tensorflow::OpKernelContext* context) {
  Adapter& adapter = Adapter::Get();
  const bool eager = IsEager(*context);
  const Place* place = nullptr;
  uint32_t node = 0;
  if (eager) {
    node = adapter.eager_ops().NodeOf(adapter.agent(), *context, type_string());
  } else if (HasOwnName(def()) || context->stack_trace().has_value()) {
    // Functions of tf.data have no caller in Python.
    place = &FindPlace();
    if (place->op != nullptr) node = place->op->node;
  }
  const bool counts_steps =
      place != nullptr && place->op != nullptr && place->op->counts_steps;
  if (node == 0 || graphdbg_interest(adapter.agent(), node) == 0) {
    Execute(context);
  } else {
    KernelExecution execution(node, place != nullptr ? place->op->flags : 0);
    execution.AddInputs(*context, place != nullptr ? &place->inputs : nullptr);
    graphdbg_begin_op(adapter.agent(), node);
    Execute(context);
    graphdbg_end_op(adapter.agent());
    execution.Report(context);
  }
  if (counts_steps && adapter.counts_steps()) adapter.EndCountedStep();
  if (adapter.terminating()) End(context, eager);
}

bool WrappingKernel::IsEager(
    const ::tensorflow::OpKernelContext& context) const {
  return may_be_eager_ && !Adapter::Get().in_call() &&
         (context.stack_trace().has_value() || IsReplacement(def()));
}

void WrappingKernel::End(::tensorflow::OpKernelContext* context, bool eager) {
  if (eager) {
    Adapter::Get().RaiseInMainThread();
  } else {
    // The Python code that has called the function sees that it was cancelled.
    context->CtxFailure(
        absl::Status(absl::StatusCode::kCancelled, "terminated by the user"));
  }
}

const WrappingKernel::Place& WrappingKernel::FindPlace() {
  const Place* const known = place_.load(std::memory_order_acquire);
  if (known != nullptr && (known->op != nullptr ||
                           known->version == Adapter::Get().ops().version())) {
    return *known;
  }
  std::unique_ptr<Place> place = MakePlace();
  MutexLock lock(&mu_);
  places_.push_back(std::move(place));
  place_.store(places_.back().get(), std::memory_order_release);
  return *places_.back();
}

std::unique_ptr<WrappingKernel::Place> WrappingKernel::MakePlace() const {
  const OpTable& ops = Adapter::Get().ops();
  auto place = std::make_unique<Place>();
  place->version = ops.version();
  place->op = ops.Find(def());
  if (place->op == nullptr) return place;
  for (int i = 0; i < num_inputs() && i < def().input_size(); ++i) {
    place->inputs.push_back(ops.FindProducer(def(), def().input(i)));
  }
  return place;
}

}  // namespace graphdbg::tensorflow
