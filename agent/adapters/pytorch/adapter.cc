#include "agent/adapters/pytorch/adapter.h"

#include <c10/core/GradMode.h>
#include <pthread.h>

#include <cstdlib>
#include <exception>
#include <string_view>

#include "agent/adapters/pytorch/host_calls.h"
#include "agent/adapters/pytorch/ranges.h"

namespace graphdbg::pytorch {
namespace {

constexpr size_t kMaxFrames = 32;

// One of so many steps is not idle, so that new modules are noticed.
constexpr uint64_t kAwakeEvery = 64;

bool EndsWith(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() &&
         text.substr(text.size() - ending.size()) == ending;
}

bool StartsEngine(const graphdbg_source_frame& frame) {
  return EndsWith(frame.file, "torch/autograd/graph.py") ||
         EndsWith(frame.file, "torch/autograd/__init__.py") ||
         // C++ programs.
         EndsWith(frame.function, "torch::autograd::Engine::execute");
}

// Whether user code runs inside the autograd engine: the backward of an
// autograd function, a hook, or a recomputed forward. Frames outside the
// engine's belong to the caller of backward().
bool UserCodeInEngine(const SourceStack& stack) {
  for (const graphdbg_source_frame& frame : stack) {
    if (StartsEngine(frame)) return false;
    if (frame.user) return true;
  }
  return false;
}

bool IsSet(const char* variable, std::string_view value) {
  const char* const text = std::getenv(variable);
  return text != nullptr && text == value;
}

// With GRAPHDBG_COMPILED=keep, compiled code must not be invalidated.
bool UsesRecordFunction() {
  return IsSet("GRAPHDBG_CAPTURE", "record_function") ||
         IsSet("GRAPHDBG_COMPILED", "keep");
}

// Converts an array of TensorImpl to an argument of an op.
c10::IValue ListOf(const void* const* tensors, size_t count) {
  c10::List<at::Tensor> list;
  for (size_t i = 0; i < count; ++i) {
    list.push_back(at::Tensor(
        c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::
            reclaim_copy(
                static_cast<c10::TensorImpl*>(const_cast<void*>(tensors[i])))));
  }
  return list;
}

}  // namespace

thread_local std::vector<Adapter::ModelInput> Adapter::model_inputs_;

Adapter& Adapter::Get() {
  static Adapter* const adapter = new Adapter;
  return *adapter;
}

graphdbg_status Adapter::Open(const char* torch_version, const char* job_name,
                              const graphdbg_interpreter* interpreter,
                              bool joins) {
  Reset();
  held_.store(joins);
  interpreter_.store(interpreter, std::memory_order_release);
  end_wait_ = interpreter->end_wait;
  const graphdbg_host host = HostCalls();
  graphdbg_options options = {};
  options.struct_size = sizeof(options);
  options.abi_version = GRAPHDBG_ABI_VERSION;
  options.framework = "pytorch";
  options.framework_version = torch_version;
  options.device = "cpu";
  options.job_name = job_name;
  options.host = &host;
  if (interpreter->tests_training) options.flags |= GRAPHDBG_OPTION_REPORTS;
  const graphdbg_status status = graphdbg_open(&options, &agent_);
  if (status != GRAPHDBG_OK) return status;
  graph_.Reset(agent_);
  tracer_.Attach(agent_, &graph_, this);
  InstallEngine();
  SetRanges(&tracer_, engine_);
  ListenToRanges();
  if (!joins) WaitForBackward();
  return GRAPHDBG_OK;
}

void Adapter::Reset() {
  level_.store(GRAPHDBG_LEVEL_OFF);
  started_.store(false);
  held_.store(false);
  terminating_.store(false);
  optimizer_seen_.store(false);
  step_open_.store(false);
  model_seen_.store(false);
  idle_.store(false);
  slept_.store(false);
  tracer_.step().Reset();
  CurrentThread().evaluated_placed = false;
  graph_.tape().SetMode(GRAPHDBG_TAPE_OFF, 0);
  graph_.tape().Clear();
  MutexLock lock(&mu_);
  called_models_.clear();
}

// Engines cannot be removed from PyTorch, so they stay for later jobs.
void Adapter::InstallEngine() {
  static CaptureEngine* dispatch = nullptr;
  static CaptureEngine* record_function = nullptr;
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { Get().AfterFork(); });
  (void)registered;
  const bool records = UsesRecordFunction();
  CaptureEngine*& engine = records ? record_function : dispatch;
  if (engine == nullptr) {
    engine = records ? MakeRecordFunctionEngine(&tracer_)
                     : MakeDispatchEngine(&tracer_);
  }
  engine_ = engine;
}

void Adapter::TraceOps(bool on) {
  if (engine_ == nullptr) return;
  engine_->TraceOps(on);
  // The first step of an optimizer may start the job.
  if (!started_.load() || (on && !engine_->FollowsRanges())) {
    ListenToRanges();
  } else {
    IgnoreRanges();
  }
}

size_t Adapter::Enter(ContextKind kind, uint32_t scope) {
  engine_->SyncThread();
  ThreadState& thread = CurrentThread();
  thread.Enter(kind, scope);
  return thread.contexts.depth() - 1;
}

void Adapter::AfterFork() {
  // Before the first step nothing is traced, and the child may train itself.
  if (!started_.load()) return;
  tracer_.Disable();
  interpreter_.store(nullptr, std::memory_order_relaxed);
}

void Adapter::DetachInterpreter() {
  TraceOps(false);
  graph_.tape().Clear();
  interpreter_.store(nullptr, std::memory_order_release);
}

graphdbg_status Adapter::Failed(const graphdbg_ending& ending, uint32_t scope,
                                const char* file, uint32_t line) {
  // Ops are not traced in each step.
  const uint32_t node =
      *file == '\0' ? 0 : tracer_.graph().NodeOfLine(scope, file, line);
  if (node != 0) {
    graphdbg_execution execution = {};
    execution.struct_size = sizeof(execution);
    execution.node = node;
    execution.error = ending.exception_message;
    graphdbg_executed(agent_, &execution);
  }
  return graphdbg_failed(agent_, &ending);
}

void Adapter::Close(const graphdbg_ending* ending) {
  TraceOps(false);
  graphdbg_close(agent_, ending);
}

void Adapter::Forget() {
  StopWaitingForBackward();
  IgnoreRanges();
  // No memory is kept for a next step.
  graph_.tape().SetMode(GRAPHDBG_TAPE_OFF, 0);
  graph_.Reset(agent_);
}

void Adapter::SetLevel(int level) {
  level_.store(level);
  if (level != GRAPHDBG_LEVEL_STEPS) idle_.store(false);
  // Other changes take effect at the next boundary: counting ops from the
  // middle of a step would assign them the names of other ops.
  if (level == GRAPHDBG_LEVEL_OFF) TraceOps(false);
}

graphdbg_status Adapter::AtBoundary(graphdbg_status status) {
  graph_.bound().ReleaseResolved();
  if (status == GRAPHDBG_DETACHED) level_.store(GRAPHDBG_LEVEL_OFF);
  if (status == GRAPHDBG_TERMINATE) terminating_.store(true);
  TraceOps(level_.load() == GRAPHDBG_LEVEL_OPS && !held_.load());
  return status;
}

graphdbg_status Adapter::Start(bool trains) {
  return held_.load() ? GRAPHDBG_OK : Begin(trains);
}

graphdbg_status Adapter::Begin(bool trains) {
  if (started_.load()) return GRAPHDBG_OK;
  uint32_t rank = 0, world_size = 0;
  const graphdbg_interpreter* const python = interpreter();
  if (python != nullptr && python->begins_training != nullptr &&
      !python->begins_training(trains ? 1 : 0, &rank, &world_size)) {
    return GRAPHDBG_OK;
  }
  if (started_.exchange(true)) return GRAPHDBG_OK;
  rank_ = rank;
  world_size_ = world_size;
  CurrentThread().trains = !held_.load();
  StopWaitingForBackward();
  const graphdbg_status status = AtBoundary(graphdbg_start(agent_));
  BeginTape();
  return status;
}

void Adapter::BeginTape() {
  graph_.tape().Clear();
  const graphdbg_interpreter* const python = interpreter();
  if (level_.load() == GRAPHDBG_LEVEL_OPS && graph_.tape().HasMode() &&
      python != nullptr && python->step_begins != nullptr) {
    python->step_begins();
  }
}

graphdbg_status Adapter::Connect() { return Begin(/*trains=*/true); }

void Adapter::Follow() {
  held_.store(false);
  CurrentThread().trains = true;
  AtBoundary(GRAPHDBG_OK);
}

bool Adapter::GetPlace(uint32_t* rank, uint32_t* world_size) const {
  *rank = rank_;
  *world_size = world_size_;
  return world_size_ != 0;
}

void Adapter::AddModelInput(uint32_t scope, const char* name,
                            c10::TensorImpl* tensor) {
  uint32_t node = graph_.BindInput(scope, name, tensor, nullptr);
  if (node == GraphState::kNoNode) {
    const SourceStack stack = CaptureStack({});
    node = graph_.BindInput(scope, name, tensor, &stack);
  }
  if (node != 0) model_inputs_.push_back({node, tensor});
}

graphdbg_status Adapter::EnterModel(uint32_t scope, bool training) {
  WakeUp();
  model_seen_.store(true);
  CurrentThread().mode = training ? GRAPHDBG_TRAIN : GRAPHDBG_EVAL;
  graphdbg_status status = Start(/*trains=*/false);
  if (!started_.load()) {
    model_inputs_.clear();
    return status;
  }
  // Without an optimizer, the previous step ends here.
  if (status == GRAPHDBG_OK) status = FinishOpenStep();
  if (status == GRAPHDBG_OK) {
    const bool new_pass = BeginPass(scope);
    ReportPass(training, new_pass);
    status = ReportInputs();
  }
  model_inputs_.clear();
  return status;
}

bool Adapter::BeginPass(uint32_t scope) {
  bool new_pass = false;
  {
    MutexLock lock(&mu_);
    new_pass = !called_models_.insert(scope).second;
    if (new_pass) called_models_ = {scope};
    graph_.EnterModel(static_cast<uint32_t>(called_models_.size()), new_pass);
  }
  // Without gradients, no backward pass refers to an earlier pass.
  if (new_pass && !c10::GradMode::is_enabled()) AtBoundary(GRAPHDBG_OK);
  return new_pass;
}

void Adapter::ReportPass(bool training, bool new_pass) {
  const bool gradients = c10::GradMode::is_enabled();
  if (!optimizer_seen_.load()) {
    const graphdbg_mode mode = !gradients ? GRAPHDBG_PREDICT
                               : training ? GRAPHDBG_TRAIN
                                          : GRAPHDBG_EVAL;
    graphdbg_begin_pass(agent_, mode, /*within_step=*/0);
  } else if (training && gradients) {
    evaluating_.store(false);
    graphdbg_begin_pass(agent_, GRAPHDBG_TRAIN, /*within_step=*/0);
  } else if (!evaluating_.exchange(true) || new_pass) {
    // A loss that is called behind the model belongs to the same evaluation.
    graphdbg_begin_pass(agent_, GRAPHDBG_EVAL, /*within_step=*/1);
  }
}

void Adapter::EndEvaluation() {
  if (evaluating_.exchange(false)) graphdbg_end_pass(agent_);
}

graphdbg_status Adapter::ReportInputs() {
  if (level_.load() != GRAPHDBG_LEVEL_OPS) return GRAPHDBG_OK;
  ThreadState& thread = CurrentThread();
  thread.placement = thread.contexts.Place();
  graphdbg_status status = GRAPHDBG_OK;
  for (const ModelInput& input : model_inputs_) {
    if (status == GRAPHDBG_OK) status = ReportInput(input);
  }
  return status;
}

graphdbg_status Adapter::ReportInput(const ModelInput& input) {
  const at::TensorBase tensor(
      c10::intrusive_ptr<c10::TensorImpl,
                         c10::UndefinedTensorImpl>::reclaim_copy(input.tensor));
  c10::StorageImpl* const storage = PlainStorage(tensor);
  if (storage == nullptr) return GRAPHDBG_OK;
  TensorList value;
  value.Add(tensor, storage);
  const graphdbg_input source = graph_.TakeInput(input.node, value);
  if (graphdbg_interest(agent_, input.node) == 0) return GRAPHDBG_OK;
  graphdbg_execution execution = {};
  execution.struct_size = sizeof(execution);
  execution.node = input.node;
  execution.flags = GRAPHDBG_MOVES_VALUES | GRAPHDBG_GIVEN;
  execution.inputs = &source;
  execution.input_count = source.node == 0 ? 0 : 1;
  execution.outputs = value.data();
  execution.output_count = value.size();
  execution.micro_step = tracer_.step().micro_step.load();
  execution.mode = CurrentThread().mode;
  return graphdbg_executed(agent_, &execution);
}

bool Adapter::EnterRegion(const void* const* inputs, size_t count) {
  if (level_.load() != GRAPHDBG_LEVEL_OPS) return false;
  const c10::IValue arguments = ListOf(inputs, count);
  ThreadState& thread = CurrentThread();
  if (!tracer_.Begin(&thread, *CompiledRegion(), BoxedOpValues(arguments),
                     ArgumentLifetime::kKernel)) {
    return false;
  }
  thread.in_region = true;
  return true;
}

void Adapter::LeaveRegion(const void* const* outputs, size_t count) {
  ThreadState& thread = CurrentThread();
  thread.in_region = false;
  if (outputs == nullptr) {
    tracer_.Fail(&thread, {}, "");
  } else {
    const c10::IValue results = ListOf(outputs, count);
    tracer_.End(&thread, BoxedOpValues(results));
  }
}

graphdbg_status Adapter::LeaveModel() {
  if (optimizer_seen_.load()) return GRAPHDBG_OK;
  if (!c10::GradMode::is_enabled()) return StepEnd();
  // A backward pass may follow and end this step.
  step_open_.store(true);
  return GRAPHDBG_OK;
}

graphdbg_status Adapter::FinishOpenStep() {
  const bool open = step_open_.exchange(false) && !optimizer_seen_.load() &&
                    !terminating_.load();
  return open ? StepEnd() : GRAPHDBG_OK;
}

graphdbg_status Adapter::StepEnd() {
  if (idle()) return EndIdleStep();
  if (!started_.load()) return GRAPHDBG_OK;
  WakeUp();
  tracer_.step().micro_step.store(1);
  evaluating_.store(false);
  graph_.EndStep();
  {
    MutexLock lock(&mu_);
    called_models_.clear();
  }
  at_step_end_.store(true);
  const graphdbg_status status = AtBoundary(graphdbg_step_end(agent_));
  at_step_end_.store(false);
  BeginTape();
  idle_.store(IsNextStepIdle());
  // The level may have risen meanwhile.
  if (level_.load() != GRAPHDBG_LEVEL_STEPS) idle_.store(false);
  return status;
}

bool Adapter::IsNextStepIdle() {
  return ++steps_ended_ % kAwakeEvery != 0 && optimizer_seen_.load() &&
         !held_.load() && level_.load() == GRAPHDBG_LEVEL_STEPS &&
         CurrentThread().contexts.Outside() && graphdbg_is_idle(agent_) != 0;
}

graphdbg_status Adapter::EndIdleStep() {
  slept_.store(true, std::memory_order_relaxed);
  at_step_end_.store(true, std::memory_order_relaxed);
  const graphdbg_status status = graphdbg_step_end(agent_);
  at_step_end_.store(false, std::memory_order_relaxed);
  if (status == GRAPHDBG_OK && IsNextStepIdle()) return status;
  idle_.store(false);
  WakeUp();
  AtBoundary(status);
  BeginTape();
  return status;
}

void Adapter::WakeUp() {
  if (slept_.load(std::memory_order_relaxed) && slept_.exchange(false)) {
    graph_.EndStep();
  }
}

graphdbg_status Adapter::EnterBackward(bool creates_graph, uint64_t* token) {
  StepState& step = tracer_.step();
  if (creates_graph) step.graphs_in_creation.fetch_add(1);
  *token = step.optimizer_steps.load();
  EndEvaluation();
  return Start(/*trains=*/true);
}

graphdbg_status Adapter::LeaveBackward(bool creates_graph, bool accumulates,
                                       uint64_t token) {
  StepState& step = tracer_.step();
  if (creates_graph) step.graphs_in_creation.fetch_sub(1);
  // A nested call, from a backward pass that recomputes something.
  if (EvaluatedNode() != nullptr) return GRAPHDBG_OK;
  // An optimizer may step while gradients are being computed.
  if (accumulates && step.optimizer_steps.load() == token) {
    step.micro_step.fetch_add(1);
  }
  const bool is_step = (accumulates || !creates_graph) &&
                       !optimizer_seen_.load() && !model_seen_.load();
  return is_step ? StepEnd() : GRAPHDBG_OK;
}

bool Adapter::Report(const char* condition, c10::TensorImpl* tensor,
                     const char* message, const char* file, uint32_t line) {
  graphdbg_source_frame source = {};
  source.file = file;
  source.line = line;
  source.user = 1;
  graphdbg_finding finding = {};
  finding.struct_size = sizeof(finding);
  finding.condition = condition;
  finding.node = graph_.NodeOf(tensor);
  finding.message = message;
  finding.source = file != nullptr ? &source : nullptr;
  return finding.node != 0 && graphdbg_report(agent_, &finding) == GRAPHDBG_OK;
}

void Adapter::OnTrainingStarted(bool by_optimizer) {
  if (by_optimizer) OnOptimizerCreated();
  OnStatus(Start(/*trains=*/true));
}

SourceStack Adapter::CaptureStack(const Placement& placement) {
  SourceStack stack;
  if (const graphdbg_interpreter* const python = interpreter()) {
    stack.resize(kMaxFrames);
    stack.resize(python->source_stack(stack.data(), stack.size()));
  }
  if (placement.phase == Phase::kBackward && !UserCodeInEngine(stack)) {
    SourceStack forward = graph_.StackOf(placement.forward_node);
    if (!forward.empty()) return forward;
  }
  return stack;
}

void Adapter::OnStatus(graphdbg_status status) {
  graph_.bound().ReleaseResolved();
  if (status == GRAPHDBG_DETACHED) SetLevel(GRAPHDBG_LEVEL_OFF);
  if (status == GRAPHDBG_TERMINATE && !terminating_.exchange(true)) {
    const graphdbg_interpreter* const python = interpreter();
    if (python != nullptr) python->terminate();
  }
}

}  // namespace graphdbg::pytorch
