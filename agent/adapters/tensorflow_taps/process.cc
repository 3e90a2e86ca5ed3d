#include "agent/adapters/tensorflow_taps/process.h"

#include <algorithm>
#include <utility>

#include "agent/adapters/tensorflow_taps/kept_tensor.h"
#include "agent/base/chained_signals.h"

namespace graphdbg::tensorflow_taps {
namespace {

void* BeginWait(void*) {
  int* const seen_before = new int(ChainedSignals::Get().seen());
  ChainedSignals::Get().BeginWait();
  return seen_before;
}

void EndWait(void*, void* token) {
  delete static_cast<int*>(token);
  ChainedSignals::Get().EndWait();
}

int Interrupted(void*, void* token) {
  return *static_cast<int*>(token) != ChainedSignals::Get().seen() ? 1 : 0;
}

graphdbg_host HostCalls() {
  graphdbg_host host = {};
  host.struct_size = sizeof(host);
  host.retain = [](void*, void* owner) {
    static_cast<KeptTensor*>(owner)->Ref();
  };
  host.release = [](void*, void* owner) {
    static_cast<KeptTensor*>(owner)->Unref();
  };
  host.begin_wait = BeginWait;
  host.end_wait = EndWait;
  host.interrupted = Interrupted;
  host.resolve = [](void*, void* bound, graphdbg_tensor* out, int64_t* shape,
                    int64_t*) {
    return Process::Get().Resolve(bound, out, shape);
  };
  host.set_level = [](void*, int level) { Process::Get().SetLevel(level); };
  return host;
}

}  // namespace

Process& Process::Get() {
  static auto* const process = new Process;
  return *process;
}

graphdbg_agent* Process::Open(const char* version, const char* job_name,
                              Reader reader) {
  reader_ = reader;
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

void Process::OnStatus(graphdbg_status status) {
  if (status == GRAPHDBG_DETACHED) {
    level_.store(GRAPHDBG_LEVEL_OFF);
    traces_.store(false);
  }
  if (status == GRAPHDBG_TERMINATE) {
    terminating_.store(true);
    traces_.store(false);
  }
}

void Process::SetValue(uint32_t node, Value value) {
  MutexLock lock(&mu_);
  values_[node] = std::move(value);
}

graphdbg_status Process::Start() {
  between_steps_.store(true);
  const graphdbg_status status = graphdbg_start(agent_);
  between_steps_.store(false);
  OnStatus(status);
  return status;
}

graphdbg_status Process::EndStep() {
  between_steps_.store(true);
  const graphdbg_status status = graphdbg_step_end(agent_);
  between_steps_.store(false);
  OnStatus(status);
  return status;
}

int Process::Resolve(void* bound, graphdbg_tensor* out, int64_t* shape) {
  const auto node = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(bound));
  if (Describe(node, out, shape)) return 0;
  if (!between_steps_.load()) return 1;
  reader_(node);
  return Describe(node, out, shape) ? 0 : 1;
}

bool Process::Describe(uint32_t node, graphdbg_tensor* out,
                       int64_t* shape) const {
  MutexLock lock(&mu_);
  const auto found = values_.find(node);
  if (found == values_.end() || found->second.data == nullptr) return false;
  const Value& value = found->second;
  std::copy(value.shape.begin(), value.shape.end(), shape);
  *out = {};
  out->struct_size = sizeof(*out);
  out->dtype = value.dtype;
  out->device = GRAPHDBG_CPU;
  out->data = value.data;
  out->ndim = static_cast<uint32_t>(value.shape.size());
  out->shape = shape;
  return true;
}

}  // namespace graphdbg::tensorflow_taps
