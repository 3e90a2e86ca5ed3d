// The functions that Python calls, through ctypes. See _tensorflow/tapped.py.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "agent/adapters/tensorflow_taps/c_api.h"
#include "agent/adapters/tensorflow_taps/process.h"
#include "agent/adapters/tensorflow_taps/tap_op.h"
#include "graphdbg/agent.h"

using graphdbg::tensorflow_taps::Process;
using graphdbg::tensorflow_taps::Value;

// `library` is the path of TensorFlow's, which the process has loaded. Returns
// 0, or 1 if it lacks something.
extern "C" GRAPHDBG_EXPORT int graphdbg_taps_install(const char* library) {
  return graphdbg::tensorflow_taps::Tf().Load(library).empty() &&
                 graphdbg::tensorflow_taps::RegisterTapOp()
             ? 0
             : 1;
}

extern "C" GRAPHDBG_EXPORT graphdbg_agent* graphdbg_taps_open(
    const char* version, const char* job_name, Process::Reader reader) {
  return Process::Get().Open(version, job_name, reader);
}

extern "C" GRAPHDBG_EXPORT int graphdbg_taps_level() {
  return Process::Get().level();
}

extern "C" GRAPHDBG_EXPORT int graphdbg_taps_terminating() {
  return Process::Get().terminating() ? 1 : 0;
}

extern "C" GRAPHDBG_EXPORT void graphdbg_taps_trace(int on) {
  Process::Get().Trace(on != 0);
}

extern "C" GRAPHDBG_EXPORT int graphdbg_taps_start() {
  return Process::Get().Start();
}

extern "C" GRAPHDBG_EXPORT int graphdbg_taps_step_end() {
  return Process::Get().EndStep();
}

extern "C" GRAPHDBG_EXPORT void graphdbg_taps_set_mode(int mode) {
  Process::Get().SetMode(static_cast<graphdbg_mode>(mode));
}

extern "C" GRAPHDBG_EXPORT void graphdbg_taps_set_loss_scale(double scale) {
  Process::Get().SetLossScale(scale);
}

// Binds the node of a parameter to the values that are set for it.
extern "C" GRAPHDBG_EXPORT void graphdbg_taps_bind(uint32_t node) {
  graphdbg_bind_tensor(Process::Get().agent(), node,
                       reinterpret_cast<void*>(static_cast<uintptr_t>(node)));
}

// The memory stays until the next call for this node. `shape` has `ndim` sizes.
extern "C" GRAPHDBG_EXPORT void graphdbg_taps_set_value(uint32_t node,
                                                        int dtype,
                                                        const void* data,
                                                        const int64_t* shape,
                                                        size_t ndim) {
  Value value;
  value.dtype = static_cast<graphdbg_dtype>(dtype);
  value.data = data;
  value.shape.assign(shape, shape + ndim);
  Process::Get().SetValue(node, std::move(value));
}
