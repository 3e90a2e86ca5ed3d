#ifndef AGENT_ADAPTERS_PYTORCH_GRAPH_STATE_H_
#define AGENT_ADAPTERS_PYTORCH_GRAPH_STATE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/adapters/pytorch/autograd_node.h"
#include "agent/adapters/pytorch/bound_tensors.h"
#include "agent/adapters/pytorch/bundle_tape.h"
#include "agent/adapters/pytorch/context.h"
#include "agent/adapters/pytorch/forward_links.h"
#include "agent/adapters/pytorch/node_names.h"
#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/producers.h"
#include "agent/adapters/pytorch/scalar_arguments.h"
#include "agent/adapters/pytorch/tape.h"
#include "agent/adapters/pytorch/tensor_view.h"
#include "agent/base/mutex.h"
#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

using SourceStack = std::vector<graphdbg_source_frame>;

// The program's graph: its scopes, nodes and parameters, and the producers of
// tensors in the current step.
//
// Thread-safe. Its lock is never held while waiting or running Python code, so
// it may be taken by threads that hold the interpreter's lock.
class GraphState {
 public:
  // Marks a position whose node could not be declared.
  static constexpr uint32_t kNoNode = ~0u;

  // Begins an empty graph, which is reported to this agent. Not thread-safe:
  // called while no op is traced.
  void Reset(graphdbg_agent* agent);

  // Modules.

  // Reports the scope to the agent now, or with its first op.
  uint32_t DeclareScope(std::string_view path, std::string_view type, bool now);
  void BindTensor(uint32_t scope, std::string_view name,
                  graphdbg_node_kind kind, c10::TensorImpl* tensor);
  BoundTensors& bound() { return bound_; }
  // Binds the input `name` of a scope to this tensor and returns its node: 0
  // for a parameter or a tensor without plain memory, kNoNode if the node has
  // to be declared and `stack` is null.
  uint32_t BindInput(uint32_t scope, std::string_view name,
                     c10::TensorImpl* tensor, const SourceStack* stack);

  // Ops.

  // Counts an execution of `op`. If it is the first at its position, `node` is
  // 0 and DeclareOp() has to be called.
  NodeNames::Place CountOp(const Placement& placement, const OpInfo& op,
                           const ForwardLink& link);
  uint32_t DeclareOp(const Placement& placement, const OpInfo& op,
                     uint32_t position, const SourceStack& stack,
                     const ForwardLink& link, const ScalarArguments& scalars);
  // The last node of the forward pass in a scope that a line of code has run
  // and that does not only move values; 0 if there is none.
  uint32_t NodeOfLine(uint32_t scope, std::string_view file,
                      uint32_t line) const;
  // The ops of this step.
  Tape& tape() { return tape_; }
  TapedNode Describe(uint32_t node) const;
  // The source stack of a node; empty if it has none.
  SourceStack StackOf(uint32_t node) const;

  // The position of ops that the engine runs to evaluate a node.
  Placement BackwardOf(const AutogradNode& node) const;

  // Tensors.

  // Fills `described`, which must be of sufficient size, with the inputs of an
  // op and their producers. The outputs must not be recorded yet.
  void DescribeInputs(const TensorList& inputs, graphdbg_input* described);
  // Records `node` as the producer of its outputs, which the tape must hold.
  // `overwrote` means that it wrote to existing memory.
  void RecordOutputs(uint32_t node, const TensorList& outputs, bool overwrote);
  // Describes the tensor passed to the input `node`, with its producer in this
  // step. If there is none, records the input as its producer.
  graphdbg_input TakeInput(uint32_t node, const TensorList& value);

  // The node of a parameter, buffer or input, or the one that produced the
  // tensor in this step; 0 if it is not known.
  uint32_t NodeOf(c10::TensorImpl* tensor);

  uint32_t OptimizerScope(std::string_view type);
  // Called when a model is called; `models` is its number within the pass.
  void EnterModel(uint32_t models, bool new_pass);
  void EndStep();

 private:
  struct NodeRecord {
    uint32_t scope = 0;
    SourceStack stack;
    // It belongs to the forward pass and does not only move values.
    bool computes = false;
    std::string name;
  };

  void DeclareScopeOf(Phase phase, uint32_t scope) GRAPHDBG_REQUIRES(mu_);
  // The binding of a node that represents a tensor. Declares the node if it is
  // new.
  BoundTensors::Binding* BindingOf(const std::string& name, uint32_t scope,
                                   graphdbg_node_kind kind,
                                   const at::TensorBase& tensor,
                                   const SourceStack& stack)
      GRAPHDBG_REQUIRES(mu_);
  void RecordNode(uint32_t node, NodeRecord record) GRAPHDBG_REQUIRES(mu_);
  static const OpName& NameIn(const Placement& placement, const OpInfo& op);

  graphdbg_agent* agent_ = nullptr;
  BoundTensors bound_;
  Tape tape_;

  // Acquired before the lock of bound_.
  mutable Mutex mu_;
  NodeNames names_ GRAPHDBG_GUARDED_BY(mu_);
  ForwardLinks links_ GRAPHDBG_GUARDED_BY(mu_);
  Producers producers_ GRAPHDBG_GUARDED_BY(mu_);
  // By node id.
  std::deque<NodeRecord> nodes_ GRAPHDBG_GUARDED_BY(mu_);
  // By the full name of the node.
  std::unordered_map<std::string, BoundTensors::Binding*> bindings_
      GRAPHDBG_GUARDED_BY(mu_);
  // By scope and name of the argument.
  std::unordered_map<uint32_t,
                     std::map<std::string, BoundTensors::Binding*, std::less<>>>
      inputs_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_GRAPH_STATE_H_
