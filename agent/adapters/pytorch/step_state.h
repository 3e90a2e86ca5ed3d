#ifndef AGENT_ADAPTERS_PYTORCH_STEP_STATE_H_
#define AGENT_ADAPTERS_PYTORCH_STEP_STATE_H_

#include <atomic>
#include <cstdint>

#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// The program's progress within its step. Thread-safe.
struct StepState {
  // The factor that the loss was multiplied by; 0 outside scaled backward
  // passes.
  std::atomic<double> grad_scale{0};
  // Number of completed backward passes of this step, plus one.
  std::atomic<uint32_t> micro_step{1};
  std::atomic<uint64_t> optimizer_steps{0};
  // Number of running backward passes that record a graph themselves.
  std::atomic<int> graphs_in_creation{0};

  void Reset() {
    grad_scale.store(0);
    micro_step.store(1);
    optimizer_steps.store(0);
    graphs_in_creation.store(0);
  }
};

// Properties of the step that are reported with an execution.
struct StepContext {
  double grad_scale = 0;
  uint32_t micro_step = 0;
  graphdbg_mode mode = GRAPHDBG_MODE_UNKNOWN;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_STEP_STATE_H_
