#ifndef AGENT_ADAPTERS_PYTORCH_GRAPH_STATE_H_
#define AGENT_ADAPTERS_PYTORCH_GRAPH_STATE_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/adapters/pytorch/autograd_node.h"
#include "agent/adapters/pytorch/bound_tensors.h"
#include "agent/adapters/pytorch/context.h"
#include "agent/adapters/pytorch/forward_links.h"
#include "agent/adapters/pytorch/node_names.h"
#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/producers.h"
#include "agent/adapters/pytorch/tensor_view.h"
#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

using SourceStack = std::vector<graphdbg_source_frame>;

// What is known of the program's graph: its scopes, nodes, parameters, and
// which node made which tensor in the current step.
//
// Any thread. Nothing waits, and no Python runs: a thread that holds the
// interpreter's lock may enter while another one is inside.
class GraphState {
 public:
  // Stands in a place whose node could not be declared.
  static constexpr uint32_t kNoNode = ~0u;

  // Everything declared from now on is told to `agent`.
  void SetAgent(graphdbg_agent* agent) { agent_ = agent; }

  // ---- modules
  // Tells the agent of it now, or with its first op.
  uint32_t DeclareScope(std::string_view path, std::string_view type, bool now);
  void BindTensor(uint32_t scope, std::string_view name,
                  graphdbg_node_kind kind, c10::TensorImpl* tensor);
  BoundTensors& bound() { return bound_; }
  // The node of the input `name` of a scope, which is this tensor now; 0 for a
  // parameter, and for a tensor without plain memory. kNoNode if it has to be
  // declared and there is no `stack`.
  uint32_t BindInput(uint32_t scope, std::string_view name,
                     c10::TensorImpl* tensor, const SourceStack* stack);

  // ---- ops
  // An execution of `op` begins. Where it is the first of its place, `node` is
  // 0, and DeclareOp has to be called.
  NodeNames::Place CountOp(const Placement& placement, const OpInfo& op,
                           const ForwardLink& link);
  uint32_t DeclareOp(const Placement& placement, const OpInfo& op,
                     uint32_t position, const SourceStack& stack,
                     const ForwardLink& link);
  // The source stack of a node; empty if it has none.
  SourceStack StackOf(uint32_t node) const;

  // Where the ops belong that the engine runs to evaluate a node.
  Placement BackwardOf(const AutogradNode& node) const;

  // ---- tensors
  // An execution has ended. Fills `described`, which has room for it, with the
  // inputs and what made them; after it, `node` has made the outputs, or, if it
  // `overwrote`, written into them.
  void EndOp(uint32_t node, const TensorList& inputs, graphdbg_input* described,
             const TensorList& outputs, bool overwrote);
  // `node`, an input, is this tensor. The result tells what made it, in this
  // step; if nothing did, it comes from the input.
  graphdbg_input TakeInput(uint32_t node, const TensorList& value);

  uint32_t OptimizerScope(std::string_view type);
  // A model is called: the `models`-th one of its pass.
  void EnterModel(uint32_t models, bool new_pass);
  void EndStep();

 private:
  struct NodeRecord {
    uint32_t scope = 0;
    SourceStack stack;
  };

  void DeclareScopeOf(Phase phase, uint32_t scope);
  // The binding of a node that stands for a tensor, declared if it is new.
  BoundTensors::Binding* BindingOf(const std::string& name, uint32_t scope,
                                   graphdbg_node_kind kind,
                                   const at::TensorBase& tensor,
                                   const SourceStack& stack);
  void Remember(uint32_t node, uint32_t scope, const SourceStack& stack);
  static const OpName& NameIn(const Placement& placement, const OpInfo& op);

  graphdbg_agent* agent_ = nullptr;
  mutable std::mutex mu_;
  NodeNames names_;
  ForwardLinks links_;
  Producers producers_;
  // By the agent's number of the node.
  std::deque<NodeRecord> nodes_;
  BoundTensors bound_;
  // By the full name of the node.
  std::unordered_map<std::string, BoundTensors::Binding*> bindings_;
  // By scope and argument.
  std::unordered_map<std::string, BoundTensors::Binding*> inputs_;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_GRAPH_STATE_H_
