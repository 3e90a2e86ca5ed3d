#include "agent/testing/toy_program.h"

namespace graphdbg::agent {

graphdbg_host ToyHost::host() {
  graphdbg_host host = {};
  host.struct_size = sizeof(host);
  host.user = this;
  host.retain = Retain;
  host.release = Release;
  host.begin_wait = BeginWait;
  host.end_wait = EndWait;
  host.interrupted = Interrupted;
  host.resolve = Resolve;
  host.set_level = SetLevel;
  host.capture_stack = CaptureStack;
  host.current_stream = CurrentStream;
  host.assign = Assign;
  host.change = Change;
  return host;
}

void ToyHost::SetBound(void* handle, std::vector<float>* values) {
  MutexLock lock(&mu_);
  bound_[handle] = values;
}

void ToyHost::Retain(void* user, void*) {
  ++static_cast<ToyHost*>(user)->retained_;
}

void ToyHost::Release(void* user, void*) {
  --static_cast<ToyHost*>(user)->retained_;
}

void* ToyHost::BeginWait(void* user) {
  ++static_cast<ToyHost*>(user)->waits_;
  return user;
}

void ToyHost::EndWait(void*, void*) {}

int ToyHost::Interrupted(void* user, void*) {
  return static_cast<ToyHost*>(user)->interrupted_.exchange(false) ? 1 : 0;
}

int ToyHost::Resolve(void* user, void* bound, graphdbg_tensor* out,
                     int64_t* shape, int64_t*) {
  auto* host = static_cast<ToyHost*>(user);
  MutexLock lock(&host->mu_);
  auto it = host->bound_.find(bound);
  if (it == host->bound_.end()) return 1;
  shape[0] = static_cast<int64_t>(it->second->size());
  *out = TensorOf(*it->second, shape);
  return 0;
}

void ToyHost::SetLevel(void* user, int level) {
  static_cast<ToyHost*>(user)->level_ = level;
}

void* ToyHost::CurrentStream(void* user, graphdbg_device, int32_t) {
  return static_cast<ToyHost*>(user)->stream_;
}

// The view must be one-dimensional.
int ToyHost::Assign(void*, const graphdbg_tensor* view, const double* values,
                    size_t count, const char**) {
  auto* const to = static_cast<float*>(const_cast<void*>(view->data));
  for (int64_t i = 0; i < view->shape[0]; ++i) {
    to[i * view->strides[0]] = static_cast<float>(values[count == 1 ? 0 : i]);
  }
  return 0;
}

int ToyHost::Change(void*, const graphdbg_change*, const char** text) {
  *text = "learning rate 0.1 -> 0";
  return 0;
}

size_t ToyHost::CaptureStack(void*, graphdbg_source_frame* out, size_t max) {
  const graphdbg_source_frame frames[] = {
      {"/usr/lib/framework.py", 7, "log", 0}, {"train.py", 42, "loss", 1}};
  size_t count = 0;
  for (; count < 2 && count < max; ++count) out[count] = frames[count];
  return count;
}

graphdbg_tensor TensorOf(const std::vector<float>& values, const int64_t* shape,
                         uint64_t storage_id) {
  graphdbg_tensor tensor = {};
  tensor.struct_size = sizeof(tensor);
  tensor.dtype = GRAPHDBG_FLOAT32;
  tensor.data = values.data();
  tensor.ndim = 1;
  tensor.shape = shape;
  tensor.storage_id =
      storage_id != 0 ? storage_id : reinterpret_cast<uint64_t>(values.data());
  tensor.owner = const_cast<float*>(values.data());
  tensor.framework_dtype = "toy.float32";
  return tensor;
}

ToyProgram::ToyProgram(const AgentFunctions& functions)
    : functions_(functions) {}

graphdbg_status ToyProgram::Open() {
  const graphdbg_host host = host_.host();
  graphdbg_options options = {};
  options.struct_size = sizeof(options);
  options.abi_version = GRAPHDBG_ABI_VERSION;
  options.framework = "toy";
  options.framework_version = "1.0";
  options.device = "cpu";
  options.host = &host;
  const graphdbg_status status = functions_.open(&options, &agent_);
  if (status != GRAPHDBG_OK) return status;
  const graphdbg_source_frame frame = {"train.py", 10, "main", 1};
  graphdbg_node_info info = {};
  info.struct_size = sizeof(info);
  info.kind = GRAPHDBG_OP;
  info.category = GRAPHDBG_ACTIVATION;
  info.stack = &frame;
  info.stack_depth = 1;
  info.name = "forward/log";
  info.op_type = "toy::log";
  functions_.declare_node(agent_, &info, &log_);
  info.name = "forward/sum";
  info.op_type = "toy::sum";
  functions_.declare_node(agent_, &info, &sum_);
  info.name = "forward/weight";
  info.op_type = "";
  info.kind = GRAPHDBG_PARAMETER;
  info.category = GRAPHDBG_WEIGHT;
  functions_.declare_node(agent_, &info, &weight_node_);
  functions_.declare_scope(agent_, "forward", "Toy");
  host_.SetBound(this, &weight_);
  functions_.bind_tensor(agent_, weight_node_, this);
  return status;
}

graphdbg_status ToyProgram::Execute(uint32_t node,
                                    const std::vector<float>& input,
                                    uint32_t input_node,
                                    const std::vector<float>& output) {
  if (functions_.interest(agent_, node) == 0) return GRAPHDBG_OK;
  const int64_t input_shape[] = {static_cast<int64_t>(input.size())};
  const int64_t output_shape[] = {static_cast<int64_t>(output.size())};
  const graphdbg_input in = {input_node, 0, TensorOf(input, input_shape)};
  const graphdbg_tensor out = TensorOf(output, output_shape);
  graphdbg_execution execution = {};
  execution.struct_size = sizeof(execution);
  execution.node = node;
  execution.inputs = &in;
  execution.input_count = 1;
  execution.outputs = &out;
  execution.output_count = 1;
  ++executed_;
  return functions_.executed(agent_, &execution);
}

graphdbg_status ToyProgram::Log() { return Execute(log_, x_, 0, y_); }

graphdbg_status ToyProgram::Sum() { return Execute(sum_, y_, log_, total_); }

graphdbg_status ToyProgram::Step() {
  graphdbg_status status = Log();
  if (status == GRAPHDBG_OK) status = Sum();
  if (status == GRAPHDBG_OK) status = EndStep();
  return status;
}

graphdbg_status ToyProgram::Close(int exit_code) {
  graphdbg_ending ending = {};
  ending.struct_size = sizeof(ending);
  ending.exit_code = exit_code;
  return functions_.close(agent_, &ending);
}

}  // namespace graphdbg::agent
