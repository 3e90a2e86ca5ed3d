#ifndef AGENT_ADAPTERS_TENSORFLOW_ADAPTER_H_
#define AGENT_ADAPTERS_TENSORFLOW_ADAPTER_H_

#include <atomic>
#include <cstdint>

#include "agent/adapters/tensorflow/eager_ops.h"
#include "agent/adapters/tensorflow/op_table.h"
#include "agent/adapters/tensorflow/variables.h"
#include "graphdbg/agent.h"

namespace graphdbg::tensorflow {

// The adapter of this process. One instance, never destroyed. Thread-safe.
class Adapter {
 public:
  static Adapter& Get();

  // Returns null if there is nothing to debug.
  graphdbg_agent* Open(const char* version, const char* job_name);

  graphdbg_agent* agent() const { return agent_; }
  OpTable& ops() { return ops_; }
  EagerOps& eager_ops() { return eager_ops_; }
  Variables& variables() { return variables_; }

  int level() const { return level_.load(std::memory_order_relaxed); }
  void SetLevel(int level) { level_.store(level); }
  // Whether kernels are to be reported.
  bool traces_ops() const {
    return traces_ops_.load(std::memory_order_relaxed);
  }
  // The level takes effect between steps.
  void TraceOps(bool on) { traces_ops_.store(on); }

  // Called around each call of a function from Python.
  void BeginCall() { calls_.fetch_add(1); }
  void EndCall() { calls_.fetch_sub(1); }
  bool in_call() const { return calls_.load(std::memory_order_relaxed) > 0; }

  graphdbg_mode mode() const { return mode_.load(std::memory_order_relaxed); }
  void SetMode(graphdbg_mode mode) { mode_.store(mode); }
  // The variable by which losses are multiplied, or null.
  void SetLossScale(::tensorflow::Var* scale) { loss_scale_.store(scale); }
  double LossScale() const;

  // Whether steps end when an optimizer counts them, within a call of a
  // function.
  void CountSteps(bool on) { counts_steps_.store(on); }
  bool counts_steps() const {
    return counts_steps_.load(std::memory_order_relaxed);
  }
  graphdbg_status EndStep();
  // A step that an optimizer has counted.
  void EndCountedStep() {
    counted_steps_.fetch_add(1);
    EndStep();
  }
  uint64_t counted_steps() const { return counted_steps_.load(); }

  // The class that is raised when the user ends the program.
  void SetTermination(void* exception) { termination_ = exception; }
  bool terminating() const { return terminating_.load(); }
  // Has the main thread raise it as soon as it runs Python code again.
  void RaiseInMainThread() const;
  void OnStatus(graphdbg_status status);

 private:
  Adapter() = default;

  graphdbg_agent* agent_ = nullptr;
  OpTable ops_;
  EagerOps eager_ops_;
  Variables variables_;
  std::atomic<int> calls_{0};
  std::atomic<int> level_{GRAPHDBG_LEVEL_OFF};
  std::atomic<bool> traces_ops_{false};
  std::atomic<bool> counts_steps_{false};
  std::atomic<uint64_t> counted_steps_{0};
  std::atomic<bool> terminating_{false};
  std::atomic<graphdbg_mode> mode_{GRAPHDBG_MODE_UNKNOWN};
  std::atomic<::tensorflow::Var*> loss_scale_{nullptr};
  void* termination_ = nullptr;
};

}  // namespace graphdbg::tensorflow

#endif  // AGENT_ADAPTERS_TENSORFLOW_ADAPTER_H_
