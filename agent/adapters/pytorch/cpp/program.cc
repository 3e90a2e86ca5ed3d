// libgraphdbg_torch_cpp.so: the C++ side of the adapter, the counterpart of
// _hooks for Python. Handles calls of torch::nn and torch::optim, which
// preload.c intercepts.

#include <c10/core/GradMode.h>
#include <c10/util/Type.h>
#include <cxxabi.h>
#include <torch/optim/optimizer.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>
#include <unordered_set>
#include <utility>

#include "agent/adapters/pytorch/cpp/models.h"
#include "agent/adapters/pytorch/cpp/native_stack.h"
#include "agent/adapters/pytorch/cpp/program_api.h"
#include "agent/adapters/pytorch/hooks_api.h"
#include "agent/base/mutex.h"

namespace graphdbg::cpp {
namespace {

// 128 + SIGTERM, so that scripts can detect the termination.
constexpr int kTerminatedExitCode = 143;

// Ends the program by exit(), which runs exit functions and destructors of
// static objects.
void Terminate() { std::exit(kTerminatedExitCode); }

const graphdbg_interpreter kInterpreter = {
    NativeStack,
    /*begin_wait=*/[]() -> void* { return nullptr; },
    /*end_wait=*/[](void*) {},
    /*interrupted=*/[](void*) { return 0; },
    Terminate,
    /*begins_training=*/nullptr,
    /*tests_training=*/0,
    /*environment=*/nullptr,
    /*step_begins=*/nullptr,
    /*training=*/nullptr,
    /*experiment=*/nullptr,
    /*change=*/nullptr,
};

void Check(graphdbg_status status) {
  if (status == GRAPHDBG_TERMINATE) Terminate();
}

const graphdbg_torch_adapter* const adapter = graphdbg_torch_adapter_get();

// While an instance exists, calls of torch::nn::Module on this thread are
// internal: made by graphdbg or by another such call.
class ModuleCallGuard {
 public:
  ModuleCallGuard() : outer_(std::exchange(inside_, true)) {}
  ~ModuleCallGuard() { inside_ = outer_; }
  bool nested() const { return outer_; }

 private:
  static thread_local bool inside_;
  const bool outer_;
};

thread_local bool ModuleCallGuard::inside_ = false;

// ---- steps, defined like in graphdbg/_optimizer_steps.py for Python

// Ends a step after each step of the leading optimizer, which is the first to
// step, or one that steps twice while the leader does not.
class StepCounter {
 public:
  // Returns whether a step has ended.
  bool OnOptimizerStep(const void* optimizer) {
    MutexLock lock(&mu_);
    const bool again = !stepped_.insert(optimizer).second;
    if (optimizer != leader_ && leader_ != nullptr && !again) return false;
    leader_ = optimizer;
    stepped_.clear();
    return true;
  }

 private:
  Mutex mu_;
  const void* leader_ GRAPHDBG_GUARDED_BY(mu_) = nullptr;
  std::unordered_set<const void*> stepped_ GRAPHDBG_GUARDED_BY(mu_);
};

// ---- the program

class Program {
 public:
  Program() : models_(adapter) {}

  Models& models() { return models_; }

  void OnOptimizerStep(const void* optimizer) {
    if (!steps_.OnOptimizerStep(optimizer)) return;
    model_called_.store(false);
    Check(adapter->step_end());
  }

  void OnOptimizerCreated() {
    optimizer_seen_.store(true);
    adapter->optimizer_seen();
  }

  // Without an optimizer, a step is a call of the model; ends the last one.
  void OnExit() {
    if (model_called_.load() && !optimizer_seen_.load()) adapter->step_end();
  }

  // Called before a layer is called. The user's own forward functions cannot be
  // intercepted, so a call of the layer that was called first counts as a call
  // of the model.
  uint32_t OnLayerCall(const torch::nn::Module& layer) {
    const ModuleCallGuard own_calls;
    const uint32_t scope = models_.ScopeOf(layer);
    int nested = 0;
    adapter->current_scope(&nested);
    if (nested) return scope;
    const void* none = nullptr;
    first_layer_.compare_exchange_strong(none, &layer);
    if (first_layer_.load() == &layer) OnModelCall(layer.is_training());
    return scope;
  }

 private:
  void OnModelCall(bool is_training) {
    const bool again = model_called_.exchange(true);
    // In training, a layer may be called several times within a step, which
    // ends with the optimizer's step.
    const bool training = optimizer_seen_.load() && c10::GradMode::is_enabled();
    if (training && again) return;
    // The previous call must have returned.
    if (again) Check(adapter->leave_model());
    Check(adapter->enter_model(models_.root(), is_training ? 1 : 0));
  }

  Models models_;
  StepCounter steps_;
  std::atomic<bool> optimizer_seen_{false};
  std::atomic<const void*> first_layer_{nullptr};
  // Whether the model was called since the last optimizer step.
  std::atomic<bool> model_called_{false};
};

Program& TheProgram() {
  // Never destroyed: threads may run ops during process exit.
  static auto* const program = new Program;
  return *program;
}

void* Invoke(const graphdbg_member_call& call) {
  const auto& r = call.registers;
  return call.function(r[0], r[1], r[2], r[3], r[4], r[5]);
}

// Calls an optimizer's method within a range, so that its ops are attributed to
// the optimizer. In Python, PyTorch itself marks the range.
void* CallInRange(const graphdbg_member_call& call, const void* self,
                  const char* method) {
  const auto& optimizer = *static_cast<const torch::optim::Optimizer*>(self);
  const std::string type = ClassName(typeid(optimizer));
  const std::string range =
      std::string("Optimizer.") + method + '#' + type + '.' + method;
  struct Range {
    explicit Range(const std::string& name)
        : kind(adapter->enter_range(name.c_str())) {}
    ~Range() { adapter->leave_range(kind); }
    const int kind;
  } const entered(range);
  return Invoke(call);
}

void* Step(const graphdbg_member_call* call) {
  void* const optimizer = call->registers[1];
  void* const result = CallInRange(*call, optimizer, "step");
  TheProgram().OnOptimizerStep(optimizer);
  return result;
}

void* ZeroGrad(const graphdbg_member_call* call) {
  return CallInRange(*call, call->registers[0], "zero_grad");
}

void* AddParamGroup(const graphdbg_member_call* call) {
  TheProgram().OnOptimizerCreated();
  return Invoke(*call);
}

void* CallAndAddModel(const graphdbg_member_call& call, const void* self) {
  const ModuleCallGuard module_function;
  void* const result = Invoke(call);
  if (!module_function.nested()) {
    TheProgram().models().Add(*static_cast<const torch::nn::Module*>(self));
  }
  return result;
}

void* ModelByResult(const graphdbg_member_call* call) {
  return CallAndAddModel(*call, call->registers[1]);
}

void* Model(const graphdbg_member_call* call) {
  return CallAndAddModel(*call, call->registers[0]);
}

void* Forward(const graphdbg_member_call* call) {
  const auto* layer = static_cast<const torch::nn::Module*>(call->registers[1]);
  struct Scope {
    explicit Scope(uint32_t scope) : depth(adapter->enter(scope)) {}
    ~Scope() { adapter->leave(depth); }
    size_t depth;
  } const scope(TheProgram().OnLayerCall(*layer));
  return Invoke(*call);
}

const graphdbg_cpp_program kProgram = {Step,          ZeroGrad, AddParamGroup,
                                       ModelByResult, Model,    Forward};

// ---- the end

void CloseAtExit(int exit_code, void*) {
  if (exit_code != kTerminatedExitCode) TheProgram().OnExit();
  graphdbg_ending ending = {};
  ending.struct_size = sizeof(ending);
  ending.exit_code = exit_code;
  adapter->close(&ending);
}

std::terminate_handler earlier_terminate = nullptr;

// The calling thread's stack as Python would write it, the innermost frame
// last. An exception that nobody catches leaves the stack as it was when it was
// thrown.
std::string Traceback() {
  std::array<graphdbg_source_frame, 64> frames;
  size_t depth = NativeStack(frames.data(), frames.size());
  std::string text = "Traceback (most recent call last):\n";
  while (depth-- > 0) {
    const graphdbg_source_frame& frame = frames[depth];
    if (frame.file[0] == '\0') continue;
    text += std::string("  File \"") + frame.file + "\", line " +
            std::to_string(frame.line) + ", in " + frame.function + '\n';
  }
  return text;
}

// Reports an uncaught exception before the program aborts, and lets the user
// look at the program.
void CloseAtTerminate() {
  constexpr int kAborted = 134;
  graphdbg_ending ending = {};
  ending.struct_size = sizeof(ending);
  ending.exit_code = kAborted;
  std::string type;
  std::string message;
  std::string traceback;
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
    traceback = Traceback() + type + ": " + message + '\n';
    ending.exception_message = message.c_str();
    ending.exception_traceback = traceback.c_str();
    adapter->failed(&ending, /*scope=*/0, /*file=*/"", /*line=*/0);
  }
  adapter->close(&ending);
  earlier_terminate();
  std::abort();
}

const graphdbg_cpp_program* Open(const char* torch_version) {
  if (adapter->open(torch_version, program_invocation_short_name, &kInterpreter,
                    /*joins=*/0) != GRAPHDBG_OK) {
    return nullptr;
  }
  on_exit(CloseAtExit, nullptr);
  earlier_terminate = std::set_terminate(CloseAtTerminate);
  return &kProgram;
}

}  // namespace
}  // namespace graphdbg::cpp

extern "C" const graphdbg_cpp_program* graphdbg_cpp_program_open(
    const char* torch_version) {
  return graphdbg::cpp::Open(torch_version);
}
