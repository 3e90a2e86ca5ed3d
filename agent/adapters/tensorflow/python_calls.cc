// The functions that Python calls, through ctypes. See _tensorflow/native.py.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/adapters/tensorflow/adapter.h"
#include "agent/adapters/tensorflow/kernel_creator.h"
#include "agent/adapters/tensorflow/kernel_execution.h"

#define GRAPHDBG_TENSORFLOW_EXPORT \
  extern "C" __attribute__((visibility("default")))

using graphdbg::tensorflow::Adapter;
using graphdbg::tensorflow::EagerOps;
using graphdbg::tensorflow::OpEntry;
using graphdbg::tensorflow::Variables;

GRAPHDBG_TENSORFLOW_EXPORT void graphdbg_tf_install() {
  graphdbg::tensorflow::InstallKernelCreator();
}

GRAPHDBG_TENSORFLOW_EXPORT void graphdbg_tf_add_frame(void* stack,
                                                      const char* file,
                                                      int line,
                                                      const char* function) {
  EagerOps::AddFrame(stack, file, line, function);
}

// `read_stack` calls graphdbg_tf_add_frame for each frame of this thread, the
// innermost first. `termination` is the class that the main thread raises when
// the user ends the program. `libraries` are `count` directories whose code is
// not the user's.
GRAPHDBG_TENSORFLOW_EXPORT graphdbg_agent* graphdbg_tf_open(
    const char* version, const char* job_name, void* termination,
    EagerOps::StackReader read_stack, const char* const* libraries,
    size_t count) {
  Adapter& adapter = Adapter::Get();
  adapter.SetTermination(termination);
  adapter.eager_ops().SetStackReader(read_stack);
  adapter.eager_ops().SetLibraries({libraries, libraries + count});
  return adapter.Open(version, job_name);
}

GRAPHDBG_TENSORFLOW_EXPORT int graphdbg_tf_level() {
  return Adapter::Get().level();
}

GRAPHDBG_TENSORFLOW_EXPORT void graphdbg_tf_trace(int on) {
  Adapter::Get().TraceOps(on != 0);
}

GRAPHDBG_TENSORFLOW_EXPORT int graphdbg_tf_terminating() {
  return Adapter::Get().terminating() ? 1 : 0;
}

GRAPHDBG_TENSORFLOW_EXPORT void graphdbg_tf_raise_in_main_thread() {
  Adapter::Get().RaiseInMainThread();
}

GRAPHDBG_TENSORFLOW_EXPORT int graphdbg_tf_start() {
  Adapter& adapter = Adapter::Get();
  const graphdbg_status status = graphdbg_start(adapter.agent());
  adapter.variables().ReleaseResolved();
  adapter.OnStatus(status);
  return status;
}

GRAPHDBG_TENSORFLOW_EXPORT int graphdbg_tf_step_end() {
  return Adapter::Get().EndStep();
}

// Before and after a call of a function. `counts_steps`: steps end within the
// call.
GRAPHDBG_TENSORFLOW_EXPORT void graphdbg_tf_begin_call(int mode,
                                                       int counts_steps) {
  Adapter& adapter = Adapter::Get();
  adapter.SetMode(static_cast<graphdbg_mode>(mode));
  adapter.CountSteps(counts_steps != 0);
  adapter.BeginCall();
}

GRAPHDBG_TENSORFLOW_EXPORT void graphdbg_tf_end_call() {
  Adapter::Get().EndCall();
}

// How many steps have ended within calls so far.
GRAPHDBG_TENSORFLOW_EXPORT uint64_t graphdbg_tf_counted_steps() {
  return Adapter::Get().counted_steps();
}

// `producers` are pairs of a node and a slot, for each of the `outputs`.
GRAPHDBG_TENSORFLOW_EXPORT void graphdbg_tf_add_op(
    const char* function, const char* op, uint32_t node, uint32_t flags,
    int counts_steps, const uint32_t* producers, size_t outputs) {
  OpEntry entry;
  entry.node = node;
  entry.flags = flags;
  entry.counts_steps = counts_steps != 0;
  for (size_t i = 0; i < outputs; ++i) {
    entry.outputs.push_back({producers[2 * i], producers[2 * i + 1]});
  }
  Adapter::Get().ops().Add(function, op, std::move(entry));
}

GRAPHDBG_TENSORFLOW_EXPORT void graphdbg_tf_add_copy(const char* function,
                                                     const char* copy) {
  Adapter::Get().ops().AddCopy(function, copy);
}

// Binds a node to a variable, by the address of its handle's TFE_TensorHandle.
// Returns 0 if its value cannot be read.
GRAPHDBG_TENSORFLOW_EXPORT int graphdbg_tf_bind(uint32_t node, void* handle) {
  ::tensorflow::Var* const variable = Variables::Find(handle);
  if (variable == nullptr) return 0;
  // The reference is kept: the agent may read it as long as the process lives.
  graphdbg_bind_tensor(Adapter::Get().agent(), node, variable);
  return 1;
}

// Reports the gradient of a variable that the program has computed outside of
// functions, by its TFE_TensorHandle.
GRAPHDBG_TENSORFLOW_EXPORT void graphdbg_tf_report_gradient(uint32_t node,
                                                            void* gradient) {
  ::tensorflow::Tensor value;
  if (Adapter::Get().traces_ops() &&
      graphdbg::tensorflow::EagerValue(gradient, &value)) {
    graphdbg::tensorflow::ReportPassedOn(node, value);
  }
}

GRAPHDBG_TENSORFLOW_EXPORT void graphdbg_tf_set_loss_scale(void* handle) {
  Adapter::Get().SetLossScale(Variables::Find(handle));
}

GRAPHDBG_TENSORFLOW_EXPORT int graphdbg_tf_scope(const char* name,
                                                 int category) {
  return Adapter::Get().eager_ops().Scope(
      name, static_cast<graphdbg_category>(category));
}

// `forward_output` is the TFE_TensorHandle of an output of the op whose
// gradient this thread is about to compute; null if it is not known.
GRAPHDBG_TENSORFLOW_EXPORT int graphdbg_tf_enter(int scope,
                                                 void* forward_output) {
  ::tensorflow::Tensor value;
  uint32_t forward = 0;
  if (graphdbg::tensorflow::EagerValue(forward_output, &value)) {
    forward = Adapter::Get().eager_ops().ProducerOf(value.data()).node;
  }
  return EagerOps::Enter(scope, forward);
}
