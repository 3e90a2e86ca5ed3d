#include "agent/adapters/tensorflow_taps/tap_op.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "agent/adapters/tensorflow_taps/c_api.h"
#include "agent/adapters/tensorflow_taps/kept_tensor.h"
#include "agent/adapters/tensorflow_taps/process.h"

namespace graphdbg::tensorflow_taps {
namespace {

constexpr char kOp[] = "GraphdbgTap";

// The attributes of a tap.
struct Tap {
  uint32_t node = 0;
  uint32_t flags = 0;
  // The slots of the values, and for each input the node and the slot that has
  // made it.
  std::vector<int64_t> slots;
  std::vector<int64_t> producers;
};

std::vector<int64_t> ReadList(TF_OpKernelConstruction* construction,
                              const char* name, TF_Status* status) {
  int32_t size = 0, total = 0;
  Tf().OpKernelConstruction_GetAttrSize(construction, name, &size, &total,
                                        status);
  std::vector<int64_t> list(static_cast<size_t>(std::max(size, 0)));
  if (!list.empty()) {
    Tf().OpKernelConstruction_GetAttrInt64List(construction, name, list.data(),
                                               size, status);
  }
  return list;
}

void* Create(TF_OpKernelConstruction* construction) {
  auto* const tap = new Tap;
  Status status;
  int64_t node = 0, flags = 0;
  Tf().OpKernelConstruction_GetAttrInt64(construction, "node", &node,
                                         status.get());
  Tf().OpKernelConstruction_GetAttrInt64(construction, "flags", &flags,
                                         status.get());
  tap->node = static_cast<uint32_t>(node);
  tap->flags = static_cast<uint32_t>(flags);
  tap->slots = ReadList(construction, "slots", status.get());
  tap->producers = ReadList(construction, "producers", status.get());
  return tap;
}

void Delete(void* tap) { delete static_cast<Tap*>(tap); }

// Within a loop, the number of the iteration from 1.
uint32_t IterationOf(TF_OpKernelContext* context) {
  const uint64_t frame = Tf().GetFrameId(context);
  const int64_t iteration = Tf().GetIterId(context);
  const bool in_loop = frame != 0 && frame != UINT64_MAX && iteration >= 0;
  return in_loop ? static_cast<uint32_t>(iteration) + 1 : 0;
}

// The tensors of a run of a tap: first its values, then its inputs.
class Tensors {
 public:
  explicit Tensors(TF_OpKernelContext* context) {
    Status status;
    const int count = Tf().NumInputs(context);
    for (int i = 0; i < count; ++i) {
      TF_Tensor* tensor = nullptr;
      Tf().GetInput(context, i, &tensor, status.get());
      tensors_.push_back(tensor != nullptr ? new KeptTensor(tensor) : nullptr);
    }
  }
  ~Tensors() {
    for (KeptTensor* const each : tensors_) {
      if (each != nullptr) each->Unref();
    }
  }
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  void PassOn(TF_OpKernelContext* context, size_t values) const {
    Status status;
    for (size_t i = 0; i < values && i < tensors_.size(); ++i) {
      if (tensors_[i] == nullptr) continue;
      Tf().SetOutput(context, static_cast<int>(i), tensors_[i]->get(),
                     status.get());
    }
  }

  size_t size() const { return tensors_.size(); }
  graphdbg_tensor Describe(size_t i) const {
    if (tensors_[i] != nullptr) return tensors_[i]->Describe();
    return Unknown();
  }

  static graphdbg_tensor Unknown() {
    graphdbg_tensor tensor = {};
    tensor.struct_size = sizeof(tensor);
    tensor.dtype = GRAPHDBG_DTYPE_OTHER;
    return tensor;
  }

 private:
  std::vector<KeptTensor*> tensors_;
};

void Report(const Tap& tap, const Tensors& tensors,
            TF_OpKernelContext* context) {
  Process& process = Process::Get();
  const size_t values = tap.slots.size();
  size_t count = 0;
  for (const int64_t slot : tap.slots) {
    count = std::max(count, static_cast<size_t>(slot) + 1);
  }
  std::vector<graphdbg_tensor> outputs(count, Tensors::Unknown());
  for (size_t i = 0; i < values; ++i) {
    outputs[static_cast<size_t>(tap.slots[i])] = tensors.Describe(i);
  }
  std::vector<graphdbg_input> inputs(tensors.size() - values);
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].node = static_cast<uint32_t>(tap.producers[2 * i]);
    inputs[i].slot = static_cast<uint32_t>(tap.producers[2 * i + 1]);
    inputs[i].tensor = tensors.Describe(values + i);
  }
  graphdbg_execution execution = {};
  execution.struct_size = sizeof(execution);
  execution.node = tap.node;
  execution.flags = tap.flags;
  execution.inputs = inputs.data();
  execution.input_count = inputs.size();
  execution.outputs = outputs.data();
  execution.output_count = outputs.size();
  execution.grad_scale = process.loss_scale();
  execution.mode = process.mode();
  execution.iteration = IterationOf(context);
  process.OnStatus(graphdbg_executed(process.agent(), &execution));
}

void Compute(void* kernel, TF_OpKernelContext* context) {
  const Tap& tap = *static_cast<Tap*>(kernel);
  Process& process = Process::Get();
  const Tensors tensors(context);
  tensors.PassOn(context, tap.slots.size());
  if (process.traces() && graphdbg_interest(process.agent(), tap.node) != 0) {
    Report(tap, tensors, context);
  }
  if (process.terminating()) {
    // The Python code that has called the function sees that it was cancelled.
    Status status;
    Tf().SetStatus(status.get(), kCancelled, "terminated by the user");
    Tf().OpKernelContext_Failure(context, status.get());
  }
}

// Values have the shapes that they had before.
void InferShapes(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeHandle* const shape = Tf().NewShapeHandle();
  const int64_t inputs = Tf().ShapeInferenceContextNumInputs(context);
  for (int i = 0; i < inputs; ++i) {
    Tf().ShapeInferenceContextGetInput(context, i, shape, status);
    // There are fewer outputs than inputs.
    Status refused;
    Tf().ShapeInferenceContextSetOutput(context, i, shape, refused.get());
    if (!refused.ok()) break;
  }
  Tf().DeleteShapeHandle(shape);
}

}  // namespace

bool RegisterTapOp() {
  const CApi& tf = Tf();
  TF_OpDefinitionBuilder* const op = tf.NewOpDefinitionBuilder(kOp);
  for (const char* const attribute :
       {"node: int", "flags: int", "slots: list(int)", "producers: list(int)",
        "Values: list(type) >= 1", "Inputs: list(type) >= 0"}) {
    tf.OpDefinitionBuilderAddAttr(op, attribute);
  }
  tf.OpDefinitionBuilderAddInput(op, "values: Values");
  tf.OpDefinitionBuilderAddInput(op, "inputs: Inputs");
  tf.OpDefinitionBuilderAddOutput(op, "same: Values");
  // Otherwise TensorFlow would leave it out where it computes in advance, and
  // merge equal ones.
  tf.OpDefinitionBuilderSetIsStateful(op, true);
  tf.OpDefinitionBuilderSetShapeInferenceFunction(op, InferShapes);
  Status status;
  tf.RegisterOpDefinition(op, status.get());
  if (!status.ok()) return false;
  TF_KernelBuilder* const kernel =
      tf.NewKernelBuilder(kOp, "CPU", Create, Compute, Delete);
  tf.RegisterKernelBuilder(kOp, kernel, status.get());
  return status.ok();
}

}  // namespace graphdbg::tensorflow_taps
