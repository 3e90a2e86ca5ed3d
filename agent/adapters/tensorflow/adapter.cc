#include "agent/adapters/tensorflow/adapter.h"

#include <dlfcn.h>

#include "agent/adapters/tensorflow/tensor_view.h"
#include "agent/adapters/tensorflow/waits.h"

namespace graphdbg::tensorflow {
namespace {

// Functions of Python's C interface, which the interpreter exports.
template <typename Function>
Function* Python(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

int Raise(void* exception) {
  static void (*const set_none)(void*) = Python<void(void*)>("PyErr_SetNone");
  set_none(exception);
  return -1;
}

graphdbg_host HostCalls() {
  graphdbg_host host = {};
  host.struct_size = sizeof(host);
  host.retain = [](void*, void* owner) { Retain(owner); };
  host.release = [](void*, void* owner) { Release(owner); };
  host.begin_wait = [](void*) { return BeginWait(); };
  host.end_wait = [](void*, void* token) { EndWait(token); };
  host.interrupted = [](void*, void* token) { return Interrupted(token); };
  host.resolve = [](void*, void* bound, graphdbg_tensor* out, int64_t* shape,
                    int64_t*) {
    return Adapter::Get().variables().Resolve(bound, out, shape);
  };
  host.set_level = [](void*, int level) { Adapter::Get().SetLevel(level); };
  return host;
}

}  // namespace

Adapter& Adapter::Get() {
  static Adapter* const adapter = new Adapter;
  return *adapter;
}

graphdbg_agent* Adapter::Open(const char* version, const char* job_name) {
  static const graphdbg_host host = HostCalls();
  graphdbg_options options = {};
  options.struct_size = sizeof(options);
  options.abi_version = GRAPHDBG_ABI_VERSION;
  options.framework = "tensorflow";
  options.framework_version = version;
  options.device = "cpu";
  options.job_name = job_name;
  options.host = &host;
  return graphdbg_open(&options, &agent_) == GRAPHDBG_OK ? agent_ : nullptr;
}

double Adapter::LossScale() const {
  ::tensorflow::Var* const scale = loss_scale_.load(std::memory_order_relaxed);
  return scale == nullptr ? 0 : Variables::ScalarOf(scale);
}

graphdbg_status Adapter::EndStep() {
  const graphdbg_status status = graphdbg_step_end(agent_);
  variables_.ReleaseResolved();
  eager_ops_.EndStep();
  OnStatus(status);
  return status;
}

void Adapter::OnStatus(graphdbg_status status) {
  if (status == GRAPHDBG_DETACHED) {
    level_.store(GRAPHDBG_LEVEL_OFF);
    traces_ops_.store(false);
  }
  if (status == GRAPHDBG_TERMINATE && !terminating_.exchange(true)) {
    traces_ops_.store(false);
  }
}

void Adapter::RaiseInMainThread() const {
  static int (*const add)(int (*)(void*), void*) =
      Python<int(int (*)(void*), void*)>("Py_AddPendingCall");
  if (add != nullptr) add(Raise, termination_);
}

}  // namespace graphdbg::tensorflow
