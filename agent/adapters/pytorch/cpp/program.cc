// libgraphdbg_torch_cpp.so: the C++ side of the adapter, as _hooks is its
// Python side. Knows torch::nn and torch::optim; preload.c hands it their
// calls.

#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <c10/util/Type.h>
#include <cxxabi.h>
#include <torch/optim/optimizer.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>

#include "agent/adapters/pytorch/cpp/models.h"
#include "agent/adapters/pytorch/cpp/native_stack.h"
#include "agent/adapters/pytorch/cpp/program_api.h"
#include "agent/adapters/pytorch/hooks_api.h"

namespace graphdbg::cpp {
namespace {

// As with Ctrl-C, so that scripts can tell: 128 + SIGTERM.
constexpr int kTerminatedExitCode = 143;

// The program ends as if it had called exit here: its exit functions and
// destructors of static objects run.
void Terminate() { std::exit(kTerminatedExitCode); }

const graphdbg_interpreter kInterpreter = {
    NativeStack,
    /*begin_wait=*/[]() -> void* { return nullptr; },
    /*end_wait=*/[](void*) {},
    /*interrupted=*/[](void*) { return 0; },
    Terminate,
};

void Check(graphdbg_status status) {
  if (status == GRAPHDBG_TERMINATE) Terminate();
}

const graphdbg_torch_adapter* const adapter = graphdbg_torch_adapter_get();

// While it lives, this thread's calls of torch::nn::Module are our own, or
// parts of one that the program made.
class Inside {
 public:
  Inside() : outer_(std::exchange(inside_, true)) {}
  ~Inside() { inside_ = outer_; }
  bool already() const { return outer_; }

 private:
  static thread_local bool inside_;
  const bool outer_;
};

thread_local bool Inside::inside_ = false;

// ---- steps, as steps.py decides them for Python

// Ends a step after each step of the leading optimizer: the first to step, or
// one that steps twice while the leader does not.
class StepCounter {
 public:
  // True if a step has ended.
  bool Stepped(const void* optimizer) {
    const std::lock_guard<std::mutex> lock(mu_);
    const bool again = !stepped_.insert(optimizer).second;
    if (optimizer != leader_ && leader_ != nullptr && !again) return false;
    leader_ = optimizer;
    stepped_.clear();
    return true;
  }

 private:
  std::mutex mu_;
  const void* leader_ = nullptr;
  std::unordered_set<const void*> stepped_;
};

// ---- the program

class Program {
 public:
  Program() : models_(adapter) {}

  Models& models() { return models_; }

  void Stepped(const void* optimizer) {
    if (!steps_.Stepped(optimizer)) return;
    model_called_.store(false);
    Check(adapter->step_end());
  }

  void OptimizerSeen() {
    optimizer_seen_.store(true);
    adapter->optimizer_seen();
  }

  // Without an optimizer a step is a call of the model, and the last is over.
  void Exiting() {
    if (model_called_.load() && !optimizer_seen_.load()) adapter->step_end();
  }

  // A layer is called. The user's own forward functions cannot be seen, so the
  // call of the layer that was called first stands for the call of the model.
  uint32_t LayerCalled(const torch::nn::Module& layer) {
    const Inside own_calls;
    const uint32_t scope = models_.ScopeOf(layer);
    int nested = 0;
    adapter->current_scope(&nested);
    if (nested) return scope;
    const void* none = nullptr;
    first_layer_.compare_exchange_strong(none, &layer);
    if (first_layer_.load() == &layer) ModelCalled(layer.is_training());
    return scope;
  }

 private:
  void ModelCalled(bool is_training) {
    const bool again = model_called_.exchange(true);
    // In training a layer may be called several times within a step: what
    // counts are the optimizer's steps.
    const bool training = optimizer_seen_.load() && c10::GradMode::is_enabled();
    if (training && again) return;
    // The call before is over, for all that can be known.
    if (again) Check(adapter->leave_model());
    Check(adapter->enter_model(models_.root(), is_training ? 1 : 0));
  }

  Models models_;
  StepCounter steps_;
  std::atomic<bool> optimizer_seen_{false};
  std::atomic<const void*> first_layer_{nullptr};
  // Since the last step of an optimizer.
  std::atomic<bool> model_called_{false};
};

Program& TheProgram() {
  // Never destroyed: threads may run ops while the process exits.
  static auto* const program = new Program;
  return *program;
}

void* Make(const graphdbg_member_call& call) {
  const auto& r = call.registers;
  return call.function(r[0], r[1], r[2], r[3], r[4], r[5]);
}

// An optimizer's method: its ops are the optimizer's, as in Python, where
// PyTorch itself names the range.
void* MakeInRange(const graphdbg_member_call& call, const void* self,
                  const char* method) {
  const auto& optimizer = *static_cast<const torch::optim::Optimizer*>(self);
  const std::string type = ClassName(typeid(optimizer));
  const std::string range =
      std::string("Optimizer.") + method + '#' + type + '.' + method;
  at::RecordFunction guard(at::RecordScope::USER_SCOPE);
  if (guard.isActive()) guard.before(range);
  return Make(call);
}

void* Step(const graphdbg_member_call* call) {
  void* const optimizer = call->registers[1];
  void* const result = MakeInRange(*call, optimizer, "step");
  TheProgram().Stepped(optimizer);
  return result;
}

void* ZeroGrad(const graphdbg_member_call* call) {
  return MakeInRange(*call, call->registers[0], "zero_grad");
}

void* AddGroup(const graphdbg_member_call* call) {
  TheProgram().OptimizerSeen();
  return Make(*call);
}

void* MakeAndShow(const graphdbg_member_call& call, const void* self) {
  const Inside module_function;
  void* const result = Make(call);
  if (!module_function.already()) {
    TheProgram().models().Show(*static_cast<const torch::nn::Module*>(self));
  }
  return result;
}

void* ModelByResult(const graphdbg_member_call* call) {
  return MakeAndShow(*call, call->registers[1]);
}

void* Model(const graphdbg_member_call* call) {
  return MakeAndShow(*call, call->registers[0]);
}

void* Forward(const graphdbg_member_call* call) {
  const auto* layer = static_cast<const torch::nn::Module*>(call->registers[1]);
  struct Scope {
    explicit Scope(uint32_t scope) : depth(adapter->enter(scope)) {}
    ~Scope() { adapter->leave(depth); }
    size_t depth;
  } const scope(TheProgram().LayerCalled(*layer));
  return Make(*call);
}

const graphdbg_cpp_program kProgram = {Step,          ZeroGrad, AddGroup,
                                       ModelByResult, Model,    Forward};

// ---- the end

void CloseAtExit(int exit_code, void*) {
  if (exit_code != kTerminatedExitCode) TheProgram().Exiting();
  graphdbg_ending ending = {};
  ending.struct_size = sizeof(ending);
  ending.exit_code = exit_code;
  adapter->close(&ending);
}

std::terminate_handler earlier_terminate = nullptr;

// An exception that nobody catches: told before the program aborts.
void CloseAtTerminate() {
  constexpr int kAborted = 134;
  graphdbg_ending ending = {};
  ending.struct_size = sizeof(ending);
  ending.exit_code = kAborted;
  std::string type;
  std::string message;
  if (const std::type_info* const thrown =
          abi::__cxa_current_exception_type()) {
    type = c10::demangle(thrown->name());
    try {
      throw;
    } catch (const std::exception& error) {
      message = error.what();
    } catch (...) {
    }
    ending.exception_type = type.c_str();
    ending.exception_message = message.c_str();
  }
  adapter->close(&ending);
  earlier_terminate();
  std::abort();
}

}  // namespace
}  // namespace graphdbg::cpp

extern "C" const graphdbg_cpp_program* graphdbg_cpp_program_open(
    const char* torch_version) {
  using namespace graphdbg::cpp;
  if (adapter->open(torch_version, program_invocation_short_name,
                    &kInterpreter) != GRAPHDBG_OK) {
    return nullptr;
  }
  on_exit(CloseAtExit, nullptr);
  earlier_terminate = std::set_terminate(CloseAtTerminate);
  return &kProgram;
}
