#ifndef AGENT_ADAPTERS_PYTORCH_EXECUTION_H_
#define AGENT_ADAPTERS_PYTORCH_EXECUTION_H_

#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <cstdint>

#include "agent/adapters/pytorch/graph_state.h"
#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/step_state.h"
#include "agent/adapters/pytorch/tensor_view.h"
#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// One op while it runs: begun before the kernel, when the inputs still hold
// what it reads, and ended after it. One thread's; reused from op to op.
class Execution {
 public:
  // `node` is the op's, not 0.
  void Begin(graphdbg_agent* agent, uint32_t node, const OpInfo& op,
             c10::ArrayRef<c10::IValue> arguments);

  // Tells `graph` and, if it is interested, the agent; may wait for the user.
  // GRAPHDBG_OK if there is nothing to tell.
  graphdbg_status End(graphdbg_agent* agent, GraphState* graph,
                      const Circumstances& circumstances,
                      c10::ArrayRef<c10::IValue> results);
  // The op has thrown: there are no results.
  void Abandon() { Clear(); }

 private:
  void CollectArguments(const OpInfo& op, c10::ArrayRef<c10::IValue> arguments);
  uint32_t Flags() const;
  bool OverwroteInput() const;
  void Clear();

  const OpInfo* op_ = nullptr;
  uint32_t node_ = 0;
  bool interested_ = false;
  bool names_non_finite_ = false;
  TensorList inputs_;
  c10::SmallVector<graphdbg_input, 4> described_inputs_;
  TensorList outputs_;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_EXECUTION_H_
