#ifndef AGENT_ADAPTERS_PYTORCH_ADAPTER_H_
#define AGENT_ADAPTERS_PYTORCH_ADAPTER_H_

#include <atomic>
#include <unordered_set>
#include <vector>

#include "agent/adapters/pytorch/capture_engine.h"
#include "agent/adapters/pytorch/graph_state.h"
#include "agent/adapters/pytorch/hooks_api.h"
#include "agent/adapters/pytorch/op_tracer.h"
#include "agent/base/mutex.h"
#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// The adapter of this process: implements the agent's host and tracks the steps
// of the program. One instance, never destroyed. Thread-safe.
class Adapter : public TracerHost {
 public:
  static Adapter& Get();

  // May be called again after Close(): the program is then a new job. With
  // `joins`, the program trains already, and only Connect() starts the job.
  graphdbg_status Open(const char* torch_version, const char* job_name,
                       const graphdbg_interpreter* interpreter, bool joins);
  void DetachInterpreter();
  void Close(const graphdbg_ending* ending);
  // After Close(), in a program that goes on: releases all tensors, and takes
  // out of PyTorch what can be taken out.
  void Forget();
  graphdbg_status Failed(const graphdbg_ending& ending, uint32_t scope,
                         const char* file, uint32_t line);
  void Notify(const char* line) { graphdbg_notify(agent_, line); }
  bool Watches(const char* condition) const {
    return graphdbg_watches(agent_, condition) != 0;
  }
  // Reports a finding about a tensor. Returns false if its node is not known.
  bool Report(const char* condition, c10::TensorImpl* tensor,
              const char* message, const char* file, uint32_t line);
  // Called in the child after a fork.
  void AfterFork();

  GraphState& graph() { return graph_; }
  bool disabled() const { return tracer_.disabled(); }
  // Whether a step has ended and the next one has not begun.
  bool at_step_end() const { return at_step_end_.load(); }
  template <typename Body>
  void Guarded(Body body) {
    tracer_.Guarded(body);
  }

  // Whether ops are traced, but those of this thread only from now on.
  bool MissesThread() const {
    return engine_ != nullptr && engine_->MissesThread();
  }

  // Enters a context on this thread. Returns the previous depth.
  size_t Enter(ContextKind kind, uint32_t scope);

  // Called before and after a region of compiled code, which is one op. If
  // EnterRegion() returns false, the region is not traced and must not be left.
  // `outputs` is null if the region has thrown.
  bool EnterRegion(const void* const* inputs, size_t count);
  void LeaveRegion(const void* const* outputs, size_t count);

  // Called before the program's first step. Has no effect once the program has
  // started, or as long as the interpreter does not want this process to be
  // debugged. `trains` means that this is not only a call of a model.
  graphdbg_status Start(bool trains);
  // For a program that trains already, whose thread must not wait: starts, on
  // another thread, but traces nothing until Follow(). The latter is called on
  // the thread that trains, between two steps.
  graphdbg_status Connect();
  void Follow();
  // Returns false if PyTorch does not know this process's rank.
  bool GetPlace(uint32_t* rank, uint32_t* world_size) const;
  // Whether the inputs of models have to be reported.
  bool NeedsModelInputs() const {
    return !started_.load() || level_.load() == GRAPHDBG_LEVEL_OPS;
  }
  // Adds an input of the model that this thread is about to call. The caller
  // keeps the tensor alive until EnterModel() has returned.
  void AddModelInput(uint32_t scope, const char* name, c10::TensorImpl* tensor);
  graphdbg_status EnterModel(uint32_t scope, bool training);
  graphdbg_status LeaveModel();

  // Called before and after a call of the autograd engine; the token connects
  // the two. `accumulates` means into the gradients of parameters.
  graphdbg_status EnterBackward(bool creates_graph, uint64_t* token);
  graphdbg_status LeaveBackward(bool creates_graph, bool accumulates,
                                uint64_t token);
  void SetGradScale(double scale) { tracer_.step().grad_scale.store(scale); }
  void OnOptimizerCreated() { optimizer_seen_.store(true); }
  graphdbg_status StepEnd();
  // Whether calls of models, modules and the autograd engine need not be
  // reported in this step. Steps of a third of a millisecond feel each of them,
  // because it finds the caches as the program has left them.
  bool idle() const { return idle_.load(std::memory_order_relaxed); }
  // Ends a step that was kept open because a backward pass could have followed.
  graphdbg_status FinishOpenStep();

  void OnTrainingStarted(bool by_optimizer) override;
  SourceStack CaptureStack(const Placement& placement) override;
  void OnStatus(graphdbg_status status) override;

  const graphdbg_interpreter* interpreter() const {
    return interpreter_.load(std::memory_order_acquire);
  }
  void end_wait(void* token) const { end_wait_(token); }
  void SetLevel(int level);

 private:
  Adapter() = default;
  // Forgets the job of an earlier Open().
  void Reset();
  // Makes the engine that the environment asks for, if there is none yet.
  void InstallEngine();
  // Has no effect before the engine exists.
  void TraceOps(bool on);

  struct ModelInput {
    uint32_t node;
    c10::TensorImpl* tensor;
  };

  // Begins a new pass if the model has already been called in this one.
  // Returns whether the model was called before in its pass, so that this call
  // begins another one.
  bool BeginPass(uint32_t scope);
  // Passes on to the agent what the model is called for.
  void ReportPass(bool training, bool new_pass);
  void EndEvaluation();
  graphdbg_status ReportInputs();
  graphdbg_status ReportInput(const ModelInput& input);
  // Begins the tape of a step.
  void BeginTape();
  // Start(), also of a program that trains already.
  graphdbg_status Begin(bool trains);
  // Called once at the end of each step.
  bool IsNextStepIdle();
  graphdbg_status EndIdleStep();
  // Catches up with what was left out in idle steps.
  void WakeUp();
  // Called between two steps or passes, after a call that may have waited.
  graphdbg_status AtBoundary(graphdbg_status status);

  graphdbg_agent* agent_ = nullptr;
  std::atomic<const graphdbg_interpreter*> interpreter_{nullptr};
  void (*end_wait_)(void* token) = nullptr;
  GraphState graph_;
  OpTracer tracer_;
  CaptureEngine* engine_ = nullptr;
  std::atomic<int> level_{GRAPHDBG_LEVEL_OFF};
  std::atomic<bool> started_{false};
  // Between Open() with `joins` and Follow().
  std::atomic<bool> held_{false};
  // From torch.distributed; no ranks if it is not used.
  uint32_t rank_ = 0;
  uint32_t world_size_ = 0;
  std::atomic<bool> terminating_{false};
  std::atomic<bool> idle_{false};
  // Used only by the thread that ends steps.
  uint64_t steps_ended_ = 0;
  // Whether steps have been idle since graph_ was last told of one.
  std::atomic<bool> slept_{false};

  // Without an optimizer, a step is a call of the model.
  std::atomic<bool> optimizer_seen_{false};
  std::atomic<bool> step_open_{false};
  std::atomic<bool> at_step_end_{false};
  // With an optimizer: the program evaluates within a training step.
  std::atomic<bool> evaluating_{false};
  // Without a model either, a step is a backward pass.
  std::atomic<bool> model_seen_{false};
  static thread_local std::vector<ModelInput> model_inputs_;

  Mutex mu_;
  // Models called in the current pass.
  std::unordered_set<uint32_t> called_models_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_ADAPTER_H_
