#include "agent/adapters/tensorflow/kernel_execution.h"

#include <string>

#include "agent/adapters/tensorflow/adapter.h"

namespace graphdbg::tensorflow {
namespace {

bool IsOnHost(const ::tensorflow::OpKernelContext& context,
              ::tensorflow::MemoryType memory) {
  return memory == ::tensorflow::HOST_MEMORY ||
         context.device()->device_type() == ::tensorflow::DEVICE_CPU;
}

// Within a loop, the number of the iteration from 1.
uint32_t IterationOf(const ::tensorflow::OpKernelContext& context) {
  const ::tensorflow::FrameAndIter at = context.frame_iter();
  const bool in_loop = at.frame_id != 0 &&
                       at.frame_id != ::tensorflow::kIllegalFrameId &&
                       at.iter_id >= 0;
  return in_loop ? static_cast<uint32_t>(at.iter_id) + 1 : 0;
}

}  // namespace

void KernelExecution::AddInputs(const ::tensorflow::OpKernelContext& context,
                                const std::vector<Producer>* producers) {
  eager_ = producers == nullptr;
  inputs_.reserve(static_cast<size_t>(context.num_inputs()));
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i) || context.input_is_ref(i)) continue;
    const ::tensorflow::Tensor& tensor = context.input(i);
    if (tensor.dtype() == ::tensorflow::DT_RESOURCE ||
        tensor.dtype() == ::tensorflow::DT_VARIANT) {
      continue;
    }
    Input& input = inputs_.emplace_back();
    input.index = i;
    input.view.Describe(tensor,
                        IsOnHost(context, context.input_memory_type(i)));
    if (producers != nullptr) {
      const size_t index = static_cast<size_t>(i);
      if (index < producers->size()) input.producer = (*producers)[index];
    } else {
      input.producer = Adapter::Get().eager_ops().ProducerOf(input.view.data());
    }
  }
}

void KernelExecution::FinishInputs(
    const ::tensorflow::OpKernelContext& context) {
  for (const Input& input : inputs_) {
    const void* const data = input.view.data();
    if (data == nullptr) continue;
    for (const TensorView& output : outputs_) {
      // The kernel has written its output into the memory of this input.
      if (output.data() == data) flags_ |= GRAPHDBG_IN_PLACE;
    }
  }
  (void)context;
}

void KernelExecution::AddOutputs(::tensorflow::OpKernelContext* context) {
  outputs_.resize(static_cast<size_t>(context->num_outputs()));
  for (int i = 0; i < context->num_outputs(); ++i) {
    const ::tensorflow::Tensor* const tensor = context->mutable_output(i);
    if (tensor == nullptr) continue;
    outputs_[static_cast<size_t>(i)].Describe(
        *tensor, IsOnHost(*context, context->output_memory_type(i)));
  }
}

void KernelExecution::Report(::tensorflow::OpKernelContext* context) {
  Adapter& adapter = Adapter::Get();
  const std::string error(context->status().message());
  const bool failed = !context->status().ok();
  if (!failed) AddOutputs(context);
  FinishInputs(*context);
  std::vector<graphdbg_input> inputs;
  for (const Input& input : inputs_) {
    graphdbg_input& reported = inputs.emplace_back();
    reported.node = input.producer.node;
    reported.slot = input.producer.slot;
    reported.tensor = input.view.get();
  }
  std::vector<graphdbg_tensor> outputs;
  for (size_t slot = 0; slot < outputs_.size(); ++slot) {
    outputs.push_back(outputs_[slot].get());
    if (eager_ && outputs_[slot].data() != nullptr) {
      adapter.eager_ops().SetProducer(outputs_[slot].data(),
                                      {node_, static_cast<uint32_t>(slot)});
    }
  }
  graphdbg_execution execution = {};
  execution.struct_size = sizeof(execution);
  execution.node = node_;
  execution.flags = flags_;
  execution.inputs = inputs.data();
  execution.input_count = inputs.size();
  execution.outputs = outputs.data();
  execution.output_count = outputs.size();
  execution.grad_scale = adapter.LossScale();
  execution.mode = adapter.mode();
  execution.iteration = IterationOf(*context);
  if (failed) execution.error = error.c_str();
  adapter.OnStatus(graphdbg_executed(adapter.agent(), &execution));
}

void ReportPassedOn(uint32_t node, const ::tensorflow::Tensor& value) {
  Adapter& adapter = Adapter::Get();
  if (graphdbg_interest(adapter.agent(), node) == 0) return;
  TensorView view;
  view.Describe(value, /*on_host=*/true);
  const Producer producer = adapter.eager_ops().ProducerOf(view.data());
  const graphdbg_input input = {producer.node, producer.slot, view.get()};
  graphdbg_execution execution = {};
  execution.struct_size = sizeof(execution);
  execution.node = node;
  execution.flags = GRAPHDBG_MOVES_VALUES;
  execution.inputs = &input;
  execution.input_count = 1;
  execution.outputs = &view.get();
  execution.output_count = 1;
  execution.grad_scale = adapter.LossScale();
  execution.mode = adapter.mode();
  adapter.OnStatus(graphdbg_executed(adapter.agent(), &execution));
}

}  // namespace graphdbg::tensorflow
