#ifndef AGENT_ADAPTERS_PYTORCH_EXECUTION_H_
#define AGENT_ADAPTERS_PYTORCH_EXECUTION_H_

#include <c10/util/SmallVector.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/adapters/pytorch/graph_state.h"
#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/op_values.h"
#include "agent/adapters/pytorch/step_state.h"
#include "agent/adapters/pytorch/tape.h"
#include "agent/adapters/pytorch/tensor_view.h"
#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// The execution of one op: begins before the kernel runs, while the inputs
// still have the values that it reads, and ends after it. Each thread has one
// instance and reuses it.
class Execution {
 public:
  // The node must not be 0.
  void Begin(graphdbg_agent* agent, GraphState* graph,
             const Tape::OpPlace& place, const OpInfo& op, OpValues arguments,
             ArgumentLifetime lifetime);

  // Reports the execution to `graph` and, if it is interested, to the agent.
  // May wait for the user.
  graphdbg_status End(graphdbg_agent* agent, const StepContext& step_context,
                      OpValues results);
  // Called instead of End() if the op has thrown an error with this message,
  // empty if it is not known. Reports the inputs, in case the error ends the
  // program. `arguments` may be empty.
  void Fail(graphdbg_agent* agent, OpValues arguments, const char* message);

 private:
  void CollectInputs();
  void CollectOutputs(OpValues results);
  // graphdbg_execution.describe_inputs; the context is the Execution.
  static size_t DescribeInputs(void* execution, const graphdbg_input** inputs);
  graphdbg_execution Describe();
  uint32_t Flags() const;
  bool OverwroteInput() const;
  // Whether all outputs are views of arguments.
  bool ReturnedViews() const;
  bool HasArgumentOf(const c10::StorageImpl* storage) const;
  void Clear();

  const OpInfo* op_ = nullptr;
  GraphState* graph_ = nullptr;
  Tape::OpPlace place_;
  bool interested_ = false;
  // Empty if they exist no longer.
  OpValues arguments_;
  bool has_inputs_ = false;
  // Absent if the op is taped once it has run.
  std::optional<Tape::Mark> taped_;
  bool has_intentional_non_finite_ = false;
  // The floating-point types of the arguments of an op that moves values: one
  // bit for each graphdbg_dtype.
  uint64_t moved_types_ = 0;
  TensorList inputs_;
  c10::SmallVector<graphdbg_input, 4> described_inputs_;
  TensorList outputs_;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_EXECUTION_H_
