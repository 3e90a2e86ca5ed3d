#ifndef AGENT_ADAPTERS_PYTORCH_STEP_STATE_H_
#define AGENT_ADAPTERS_PYTORCH_STEP_STATE_H_

#include <atomic>
#include <cstdint>

#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// Where the program is within its step. Any thread.
struct StepState {
  // What the loss was multiplied with; 0 outside scaled backward passes.
  std::atomic<double> grad_scale{0};
  // Backward passes of this step that are over, and one.
  std::atomic<uint32_t> micro_step{1};
  std::atomic<uint64_t> optimizer_steps{0};
  // Backward passes under way that record a graph of their own.
  std::atomic<int> graphs_in_creation{0};
};

// What an execution tells of the step it is in.
struct Circumstances {
  double grad_scale = 0;
  uint32_t micro_step = 0;
  graphdbg_mode mode = GRAPHDBG_MODE_UNKNOWN;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_STEP_STATE_H_
