#ifndef AGENT_ADAPTERS_PYTORCH_ADAPTER_H_
#define AGENT_ADAPTERS_PYTORCH_ADAPTER_H_

#include <atomic>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "agent/adapters/pytorch/capture_engine.h"
#include "agent/adapters/pytorch/graph_state.h"
#include "agent/adapters/pytorch/hooks_api.h"
#include "agent/adapters/pytorch/op_follower.h"
#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// The adapter of this process: the agent's host, and the life of the program
// from the first step to the last. One instance, never destroyed. Any thread.
class Adapter : public FollowerHost {
 public:
  static Adapter& Get();

  graphdbg_status Open(const char* torch_version, const char* job_name,
                       const graphdbg_interpreter* interpreter);
  void DetachInterpreter();
  void Close(const graphdbg_ending* ending);
  void Notify(const char* line) { graphdbg_notify(agent_, line); }
  // In the child after a fork.
  void AfterFork();

  GraphState& graph() { return graph_; }
  bool dead() const { return follower_.dead(); }
  template <typename Body>
  void Guarded(Body body) {
    follower_.Guarded(body);
  }

  // This thread enters a context; how deep it was.
  size_t Enter(ContextKind kind, uint32_t scope);

  // Around a region of compiled code, which is one op. False: it is not
  // followed, and is not to be left. Null: it has thrown.
  bool EnterRegion(const void* const* inputs, size_t count);
  void LeaveRegion(const void* const* outputs, size_t count);

  // Before the program's first step; only the first call does anything.
  graphdbg_status Start();
  // Whether the tensors that a model is given are of interest.
  bool WantsInputs() const {
    return !started_.load() || level_.load() == GRAPHDBG_LEVEL_OPS;
  }
  // A tensor that the model is given which this thread is about to call. The
  // caller keeps it until EnterModel has returned.
  void GiveInput(uint32_t scope, const char* name, c10::TensorImpl* tensor);
  graphdbg_status EnterModel(uint32_t scope, bool training);
  graphdbg_status LeaveModel();

  // Around a call of the autograd engine. The first one's result goes to the
  // second. `accumulates`: into the gradients of parameters.
  graphdbg_status EnterBackward(bool creates_graph, uint64_t* token);
  graphdbg_status LeaveBackward(bool creates_graph, bool accumulates,
                                uint64_t token);
  void SetGradScale(double scale) { follower_.step().grad_scale.store(scale); }
  void OptimizerSeen() { optimizer_seen_.store(true); }
  graphdbg_status StepEnd();
  // Ends a step that was left open because more could have come.
  graphdbg_status LastStep();

  void TrainingSeen(bool by_optimizer) override;
  SourceStack CaptureStack(const Placement& placement) override;
  void OnStatus(graphdbg_status status) override;

  const graphdbg_interpreter* interpreter() const {
    return interpreter_.load(std::memory_order_acquire);
  }
  void end_wait(void* token) const { end_wait_(token); }
  void SetLevel(int level);

 private:
  Adapter() = default;
  // Nothing while there is no engine.
  void FollowOps(bool on);

  struct GivenInput {
    uint32_t node;
    c10::TensorImpl* tensor;
  };

  // Where the next pass begins.
  void BeginPass(uint32_t scope);
  graphdbg_status ReportInputs();
  graphdbg_status ReportInput(const GivenInput& input);
  // After every call that may have waited, between two steps or passes.
  graphdbg_status AtBoundary(graphdbg_status status);

  graphdbg_agent* agent_ = nullptr;
  std::atomic<const graphdbg_interpreter*> interpreter_{nullptr};
  void (*end_wait_)(void* token) = nullptr;
  GraphState graph_;
  OpFollower follower_;
  CaptureEngine* engine_ = nullptr;
  std::atomic<int> level_{GRAPHDBG_LEVEL_OFF};
  std::atomic<bool> started_{false};
  std::atomic<bool> terminating_{false};

  // Programs without an optimizer: a step is a call of the model.
  std::atomic<bool> optimizer_seen_{false};
  std::atomic<bool> step_open_{false};
  // Programs without either: a step is a backward pass.
  std::atomic<bool> model_seen_{false};
  static thread_local std::vector<GivenInput> given_inputs_;

  std::mutex mu_;
  // Models called in the present pass.
  std::unordered_set<uint32_t> called_models_;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_ADAPTER_H_
