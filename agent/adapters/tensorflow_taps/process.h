#ifndef AGENT_ADAPTERS_TENSORFLOW_TAPS_PROCESS_H_
#define AGENT_ADAPTERS_TENSORFLOW_TAPS_PROCESS_H_

#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "agent/base/mutex.h"
#include "graphdbg/agent.h"

namespace graphdbg::tensorflow_taps {

// The value of a parameter, in memory that Python keeps until it sets the next.
struct Value {
  graphdbg_dtype dtype = GRAPHDBG_DTYPE_OTHER;
  const void* data = nullptr;
  std::vector<int64_t> shape;
};

// What the taps of this process report to. One instance, never destroyed.
// Thread-safe.
class Process {
 public:
  static Process& Get();

  // Reads the value of a variable and passes it to SetValue. Called between
  // steps only, where nothing of TensorFlow runs.
  using Reader = void (*)(uint32_t node);

  // Returns null if there is nothing to debug.
  graphdbg_agent* Open(const char* version, const char* job_name,
                       Reader reader);
  graphdbg_agent* agent() const { return agent_; }

  int level() const { return level_.load(); }
  void SetLevel(int level) { level_.store(level); }
  // Whether taps report. The level takes effect between steps.
  bool traces() const { return traces_.load(std::memory_order_relaxed); }
  void Trace(bool on) { traces_.store(on); }
  graphdbg_mode mode() const { return mode_.load(std::memory_order_relaxed); }
  void SetMode(graphdbg_mode mode) { mode_.store(mode); }
  double loss_scale() const { return loss_scale_.load(); }
  void SetLossScale(double scale) { loss_scale_.store(scale); }

  graphdbg_status Start();
  graphdbg_status EndStep();
  // The user has ended the program.
  bool terminating() const { return terminating_.load(); }
  void OnStatus(graphdbg_status status);

  void SetValue(uint32_t node, Value value);
  // As host.resolve; `bound` is the number of a node.
  int Resolve(void* bound, graphdbg_tensor* out, int64_t* shape);

 private:
  Process() = default;

  bool Describe(uint32_t node, graphdbg_tensor* out, int64_t* shape) const;

  graphdbg_agent* agent_ = nullptr;
  Reader reader_ = nullptr;
  std::atomic<bool> between_steps_{false};
  std::atomic<int> level_{GRAPHDBG_LEVEL_OFF};
  std::atomic<bool> traces_{false};
  std::atomic<bool> terminating_{false};
  std::atomic<graphdbg_mode> mode_{GRAPHDBG_MODE_UNKNOWN};
  std::atomic<double> loss_scale_{0};
  mutable Mutex mu_;
  std::unordered_map<uint32_t, Value> values_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::tensorflow_taps

#endif  // AGENT_ADAPTERS_TENSORFLOW_TAPS_PROCESS_H_
