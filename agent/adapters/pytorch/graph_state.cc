#include "agent/adapters/pytorch/graph_state.h"

namespace graphdbg::pytorch {
namespace {

at::TensorBase TensorOf(c10::TensorImpl* tensor) {
  // wrap_tensor_impl would reject tensors whose memory was released.
  return at::TensorBase(
      c10::intrusive_ptr<c10::TensorImpl,
                         c10::UndefinedTensorImpl>::reclaim_copy(tensor));
}

}  // namespace

void GraphState::Reset(graphdbg_agent* agent) {
  bound_.Clear();
  tape_.Clear();
  MutexLock lock(&mu_);
  agent_ = agent;
  names_ = NodeNames();
  links_ = ForwardLinks();
  producers_ = Producers();
  nodes_.clear();
  bindings_.clear();
  inputs_.clear();
}

uint32_t GraphState::DeclareScope(std::string_view path, std::string_view type,
                                  bool now) {
  MutexLock lock(&mu_);
  const uint32_t scope = names_.Scope(path, type);
  names_.Reserve(names_.FullName(Phase::kForward, scope));
  names_.Reserve(names_.FullName(Phase::kBackward, scope));
  if (now) DeclareScopeOf(Phase::kForward, scope);
  return scope;
}

void GraphState::DeclareScopeOf(Phase phase, uint32_t scope) {
  if (names_.type(scope).empty() || !names_.FirstUse(phase, scope)) return;
  graphdbg_declare_scope(agent_, names_.FullName(phase, scope).c_str(),
                         names_.type(scope).c_str());
}

BoundTensors::Binding* GraphState::BindingOf(const std::string& name,
                                             uint32_t scope,
                                             graphdbg_node_kind kind,
                                             const at::TensorBase& tensor,
                                             const SourceStack& stack) {
  BoundTensors::Binding*& binding = bindings_[name];
  if (binding != nullptr) return binding;
  graphdbg_node_info info = {};
  info.struct_size = sizeof(info);
  info.name = name.c_str();
  info.kind = kind;
  info.category = kind == GRAPHDBG_PARAMETER ? GRAPHDBG_WEIGHT : GRAPHDBG_OTHER;
  info.op_type = kind == GRAPHDBG_PARAMETER ? "Parameter"
                 : kind == GRAPHDBG_BUFFER  ? "Buffer"
                                            : "Input";
  info.stack = stack.data();
  info.stack_depth = stack.size();
  const graphdbg_attribute gradient = {
      "requires_grad",
      tensor.unsafeGetTensorImpl()->requires_grad() ? "True" : "False"};
  if (kind == GRAPHDBG_PARAMETER) {
    info.attributes = &gradient;
    info.attribute_count = 1;
  }
  graphdbg_tensor output = {};
  if (c10::StorageImpl* const storage = PlainStorage(tensor)) {
    DescribeTensor(tensor, storage, &output);
    info.outputs = &output;
    info.output_count = 1;
  }
  uint32_t node = 0;
  if (graphdbg_declare_node(agent_, &info, &node) != GRAPHDBG_OK) node = 0;
  names_.Reserve(name);
  RecordNode(node, {scope, stack, /*computes=*/false, name});
  binding = bound_.Create(node, scope, kind == GRAPHDBG_INPUT);
  return binding;
}

void GraphState::BindTensor(uint32_t scope, std::string_view name,
                            graphdbg_node_kind kind, c10::TensorImpl* tensor) {
  // A tensor that several modules share belongs to the first of them.
  if (bound_.Find(tensor) != nullptr) return;
  MutexLock lock(&mu_);
  std::string full_name = names_.FullName(Phase::kForward, scope) + '/';
  full_name += name;
  BoundTensors::Binding* const binding =
      BindingOf(full_name, scope, kind, TensorOf(tensor), {});
  bound_.Hold(binding, tensor);
  if (binding->node != 0) {
    graphdbg_bind_tensor(agent_, binding->node, binding);
  }
  bound_.Refresh(&producers_);
}

uint32_t GraphState::BindInput(uint32_t scope, std::string_view name,
                               c10::TensorImpl* tensor,
                               const SourceStack* stack) {
  const BoundTensors::Binding* const known = bound_.Find(tensor);
  if (known != nullptr && !known->changes) return 0;
  const at::TensorBase value = TensorOf(tensor);
  if (PlainStorage(value) == nullptr) return 0;
  MutexLock lock(&mu_);
  auto& inputs = inputs_[scope];
  auto found = inputs.find(name);
  if (found == inputs.end()) {
    if (stack == nullptr) return kNoNode;
    std::string own_name = names_.FullName(Phase::kForward, scope) + '/';
    own_name += name;
    // A module or parameter may have the same name as the argument.
    while (names_.IsReserved(own_name)) own_name += "_input";
    BoundTensors::Binding* const binding =
        BindingOf(own_name, scope, GRAPHDBG_INPUT, value, *stack);
    if (binding->node != 0) {
      graphdbg_bind_tensor(agent_, binding->node, binding);
    }
    found = inputs.emplace(name, binding).first;
  }
  bound_.Hold(found->second, tensor);
  return found->second->node;
}

const OpName& GraphState::NameIn(const Placement& placement, const OpInfo& op) {
  return placement.phase == Phase::kBackward ? op.backward_name : op.name;
}

NodeNames::Place GraphState::CountOp(const Placement& placement,
                                     const OpInfo& op,
                                     const ForwardLink& link) {
  MutexLock lock(&mu_);
  const NodeNames::Place place = names_.Count(placement, NameIn(placement, op));
  if (place.node != 0) links_.OpStarted(link, place.node);
  return place;
}

uint32_t GraphState::DeclareOp(const Placement& placement, const OpInfo& op,
                               uint32_t position, const SourceStack& stack,
                               const ForwardLink& link,
                               const ScalarArguments& scalars) {
  std::vector<graphdbg_attribute> attributes;
  for (const auto& [argument, value] : scalars) {
    attributes.push_back({argument.c_str(), value.c_str()});
  }
  MutexLock lock(&mu_);
  const OpName& op_name = NameIn(placement, op);
  DeclareScopeOf(placement.phase, placement.scope);
  const std::string name = names_.NewName(placement, op_name);
  graphdbg_node_info info = {};
  info.struct_size = sizeof(info);
  info.name = name.c_str();
  info.kind = GRAPHDBG_OP;
  info.category = placement.category;
  info.op_type = op.full_name.c_str();
  info.stack = stack.data();
  info.stack_depth = stack.size();
  info.forward_node = placement.forward_node;
  info.flags = placement.recomputed ? GRAPHDBG_NODE_RECOMPUTED : 0;
  info.attributes = attributes.data();
  info.attribute_count = attributes.size();
  uint32_t node = 0;
  if (graphdbg_declare_node(agent_, &info, &node) != GRAPHDBG_OK) {
    node = kNoNode;
  } else {
    RecordNode(node, {placement.scope, stack,
                      placement.phase == Phase::kForward &&
                          (op.flags & GRAPHDBG_MOVES_VALUES) == 0,
                      name});
    links_.OpStarted(link, node);
  }
  names_.SetNode(placement, op_name, position, node);
  return node;
}

void GraphState::RecordNode(uint32_t node, NodeRecord record) {
  if (node >= nodes_.size()) nodes_.resize(node + 1);
  nodes_[node] = std::move(record);
}

uint32_t GraphState::NodeOfLine(uint32_t scope, std::string_view file,
                                uint32_t line) const {
  MutexLock lock(&mu_);
  for (size_t node = nodes_.size(); node-- > 1;) {
    const NodeRecord& record = nodes_[node];
    if (record.scope == scope && record.computes && !record.stack.empty() &&
        record.stack[0].line == line && record.stack[0].file == file) {
      return static_cast<uint32_t>(node);
    }
  }
  return 0;
}

TapedNode GraphState::Describe(uint32_t node) const {
  MutexLock lock(&mu_);
  if (node >= nodes_.size()) return {};
  TapedNode described;
  described.name = nodes_[node].name;
  for (const graphdbg_source_frame& frame : nodes_[node].stack) {
    if (!frame.user) continue;
    described.file = frame.file;
    described.line = frame.line;
    break;
  }
  return described;
}

SourceStack GraphState::StackOf(uint32_t node) const {
  MutexLock lock(&mu_);
  return node < nodes_.size() ? nodes_[node].stack : SourceStack();
}

Placement GraphState::BackwardOf(const AutogradNode& node) const {
  Placement placement;
  placement.phase = Phase::kBackward;
  placement.category = GRAPHDBG_GRADIENT;
  MutexLock lock(&mu_);
  if (node.leaf == nullptr) {
    placement.forward_node = links_.Find(node.thread, node.sequence);
  } else if (const auto* parameter = bound_.Find(node.leaf)) {
    placement.forward_node = parameter->node;
  }
  if (placement.forward_node < nodes_.size()) {
    placement.scope = nodes_[placement.forward_node].scope;
  }
  return placement;
}

void GraphState::DescribeInputs(const TensorList& inputs,
                                graphdbg_input* described) {
  MutexLock lock(&mu_);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Origin origin =
        producers_.Find(inputs.storage(i), inputs.signature(i));
    described[i] = {origin.node, origin.slot, inputs[i]};
  }
}

void GraphState::RecordOutputs(uint32_t node, const TensorList& outputs,
                               bool overwrote) {
  MutexLock lock(&mu_);
  for (uint32_t slot = 0; slot < outputs.size(); ++slot) {
    producers_.RecordOutput(outputs.storage(slot), outputs.signature(slot),
                            {node, slot}, overwrote);
  }
}

graphdbg_input GraphState::TakeInput(uint32_t node, const TensorList& value) {
  MutexLock lock(&mu_);
  const Origin origin = producers_.Find(value.storage(0), value.signature(0));
  if (origin.node == 0) {
    producers_.RecordOutput(value.storage(0), value.signature(0), {node, 0},
                            false);
  }
  return {origin.node, origin.slot, value[0]};
}

uint32_t GraphState::NodeOf(c10::TensorImpl* tensor) {
  if (const auto* binding = bound_.Find(tensor)) return binding->node;
  const at::TensorBase value(
      c10::intrusive_ptr<c10::TensorImpl,
                         c10::UndefinedTensorImpl>::reclaim_copy(tensor));
  c10::StorageImpl* const storage = PlainStorage(value);
  if (storage == nullptr) return 0;
  MutexLock lock(&mu_);
  return producers_.Find(storage, ViewSignature(value)).node;
}

uint32_t GraphState::OptimizerScope(std::string_view type) {
  MutexLock lock(&mu_);
  return names_.Scope(type, type);
}

void GraphState::EnterModel(uint32_t models, bool new_pass) {
  MutexLock lock(&mu_);
  if (new_pass) {
    names_.BeginPass(models);
  } else {
    names_.BeginSegment(models);
  }
}

void GraphState::EndStep() {
  MutexLock lock(&mu_);
  bound_.Refresh(&producers_);
  producers_.EndStep();
  names_.BeginPass(0);
}

}  // namespace graphdbg::pytorch
