#include "agent/core/node_table.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/core/message_parts.h"
#include "proto/wire/limits.h"
#include "proto/wire/status_macros.h"
#include "proto/wire/utf8.h"

namespace graphdbg::agent {
namespace {

static_assert(wire::kMaxNodes < SegmentedArray<NodeFacts>::kCapacity);

size_t Bounded(size_t count) {
  return std::min(count, static_cast<size_t>(wire::kMaxNodeEdges));
}

uint32_t SlotOf(uint32_t slot) {
  return std::min<uint32_t>(slot, wire::kMaxNodeEdges);
}

size_t Dimensions(const graphdbg_tensor& tensor) {
  if (tensor.shape == nullptr) return 0;
  return std::min<size_t>(tensor.ndim, wire::kMaxDimensions);
}

// FNV-1a over 64-bit words, with the high bits folded in.
class Hash {
 public:
  void Add(uint64_t word) {
    value_ = (value_ ^ word) * 0x100000001B3ull;
    value_ ^= value_ >> 32;
  }
  // Never 0, which means "not seen".
  uint64_t value() const { return value_ | 1; }

 private:
  uint64_t value_ = 0xCBF29CE484222325ull;
};

// Inputs that the host has not described yet are described in the first
// executions after a change, and then in one of so many. Not a power of two,
// because some inputs alternate.
constexpr uint32_t kAlwaysDescribed = 8;
constexpr uint32_t kDescribedEvery = 17;

uint64_t SignatureOf(const InputArray& inputs) {
  Hash hash;
  for (size_t i = 0; i < inputs.size(); ++i) {
    hash.Add(uint64_t{inputs[i].node} << 32 | inputs[i].slot);
  }
  return hash.value();
}

// Without the inputs.
uint64_t SignatureOf(const Execution& execution) {
  Hash hash;
  hash.Add(execution.flags);
  for (size_t i = 0; i < execution.outputs.size(); ++i) {
    const graphdbg_tensor& tensor = execution.outputs[i];
    hash.Add(static_cast<uint64_t>(tensor.dtype) << 32 | tensor.ndim);
    for (size_t d = 0; d < Dimensions(tensor); ++d) {
      hash.Add(static_cast<uint64_t>(tensor.shape[d]));
    }
  }
  return hash.value();
}

bool IsKind(graphdbg_node_kind kind) {
  return kind >= GRAPHDBG_OP && kind <= GRAPHDBG_INPUT;
}

conditions::Category CategoryOf(graphdbg_category category) {
  return category >= GRAPHDBG_OTHER && category <= GRAPHDBG_OPTIMIZER
             ? static_cast<conditions::Category>(category)
             : conditions::Category::kOther;
}

// Adds the modes in which a node executed, and whether it repeats a part of the
// forward pass.
void FillAttributes(bool recomputed, uint8_t modes, v1::Node* node) {
  const bool train = (modes & (1 << GRAPHDBG_TRAIN)) != 0;
  const bool eval = (modes & (1 << GRAPHDBG_EVAL)) != 0;
  if (train || eval) {
    (*node->mutable_attributes())["mode"] = train && eval ? "train, eval"
                                            : train       ? "train"
                                                          : "eval";
  }
  if (recomputed) (*node->mutable_attributes())["recomputed"] = "yes";
}

}  // namespace

absl::StatusOr<uint32_t> NodeTable::Declare(const graphdbg_node_info& info) {
  if (info.name == nullptr || *info.name == '\0') {
    return absl::InvalidArgumentError("the name of a node is missing");
  }
  const absl::string_view given = info.name;
  if (given.size() > wire::kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the name of a node has ", given.size(),
                     " bytes; the limit is ", wire::kMaxNameBytes));
  }
  if (!IsKind(info.kind)) {
    return absl::InvalidArgumentError(
        absl::StrCat("node ", given, " has the unknown kind ", int{info.kind}));
  }
  std::string name = wire::ToValidUtf8(given, wire::kMaxNameBytes);
  uint32_t id;
  {
    MutexLock lock(&mu_);
    auto it = names_.find(name);
    if (it != names_.end()) return it->second;
    if (records_.size() >= wire::kMaxNodes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("cannot declare node ", given, ": a job has at most ",
                       wire::kMaxNodes, " nodes"));
    }
    RETURN_IF_ERROR(AddGraph(ValidText(info.graph)));
    id = Add(info, std::move(name));
  }
  if (on_change_) on_change_();
  return id;
}

absl::Status NodeTable::AddGraph(const std::string& graph) {
  if (graphs_.size() >= wire::kMaxGraphs && graphs_.count(graph) == 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot add graph \"", graph, "\": a job has at most ",
                     wire::kMaxGraphs, " graphs"));
  }
  graphs_.emplace(graph, graphs_.size());
  return absl::OkStatus();
}

uint32_t NodeTable::Add(const graphdbg_node_info& info, std::string name) {
  const uint32_t id = static_cast<uint32_t>(records_.size()) + 1;
  const auto entry = names_.emplace(std::move(name), id).first;
  Record& record = records_.emplace_back();
  record.graph = pool_.Intern(ValidText(info.graph));
  record.name = &entry->first;
  record.op_type = pool_.Intern(ValidText(info.op_type));
  record.kind = info.kind;
  record.category = CategoryOf(info.category);
  record.order = info.order;
  record.forward_node = info.forward_node < id ? info.forward_node : 0;
  record.recomputed = (info.flags & GRAPHDBG_NODE_RECOMPUTED) != 0;
  record.loss = (info.flags & GRAPHDBG_NODE_LOSS) != 0;
  AddDeclaredInputs(info, id, &record);
  AddAttributes(info, &record);
  AddStack(info, &record);
  SetOutputs(Tensors(info.outputs, info.output_count), &record);
  NodeFacts& facts = facts_.Grow(id);
  facts.name = record.name;
  facts.Set(kAnyNode, true);
  facts.Set(kNeverExecuted, info.kind == GRAPHDBG_OP);
  facts.is_input = info.kind == GRAPHDBG_INPUT;
  if (intentional_.Contains(*record.name, *record.op_type)) {
    facts.intentional = true;
    facts.Set(kExplicitNonFinite, true);
  }
  MarkChanged(id);
  return id;
}

void NodeTable::AddDeclaredInputs(const graphdbg_node_info& info, uint32_t id,
                                  Record* record) {
  if (info.inputs == nullptr) return;
  for (size_t i = 0; i < Bounded(info.input_count); ++i) {
    const graphdbg_edge& edge = info.inputs[i];
    if (edge.node >= id) continue;
    record->inputs.push_back({edge.node, SlotOf(edge.slot)});
  }
}

void NodeTable::AddAttributes(const graphdbg_node_info& info, Record* record) {
  if (info.attributes == nullptr) return;
  for (size_t i = 0; i < Bounded(info.attribute_count); ++i) {
    const graphdbg_attribute& attribute = info.attributes[i];
    record->attributes.emplace_back(pool_.Intern(ValidText(attribute.name)),
                                    pool_.Intern(ValidText(attribute.value)));
  }
}

void NodeTable::AddStack(const graphdbg_node_info& info, Record* record) {
  if (info.stack == nullptr) return;
  const size_t depth = std::min(info.stack_depth, wire::kMaxStackFrames);
  for (size_t i = 0; i < depth; ++i) {
    const graphdbg_source_frame& frame = info.stack[i];
    record->stack.push_back({pool_.Intern(ValidText(frame.file)),
                             pool_.Intern(ValidText(frame.function)),
                             frame.line, frame.user != 0});
  }
}

void NodeTable::SetInputs(const InputArray& inputs, Record* record) {
  record->inputs.clear();
  for (size_t i = 0; i < Bounded(inputs.size()); ++i) {
    const graphdbg_input& input = inputs[i];
    if (input.node > records_.size()) continue;
    record->inputs.push_back({input.node, SlotOf(input.slot)});
  }
}

void NodeTable::SetOutputs(const TensorArray& tensors, Record* record) {
  record->outputs.clear();
  for (size_t i = 0; i < Bounded(tensors.size()); ++i) {
    const graphdbg_tensor& tensor = tensors[i];
    OutputType type;
    type.dtype = static_cast<graphdbg_dtype>(DTypeFromNumber(tensor.dtype));
    type.framework_dtype = pool_.Intern(ValidText(tensor.framework_dtype));
    const size_t ndim = Dimensions(tensor);
    if (ndim > 0) type.shape.assign(tensor.shape, tensor.shape + ndim);
    record->outputs.push_back(std::move(type));
  }
}

absl::Status NodeTable::DeclareScope(absl::string_view graph,
                                     absl::string_view name,
                                     absl::string_view type) {
  ScopeKey scope(wire::ToValidUtf8(graph, wire::kMaxNameBytes),
                 wire::ToValidUtf8(name, wire::kMaxNameBytes));
  if (scope.second.empty()) return absl::OkStatus();
  {
    MutexLock lock(&mu_);
    RETURN_IF_ERROR(AddGraph(scope.first));
    std::string& known = scope_types_[scope];
    std::string now = wire::ToValidUtf8(type, wire::kMaxNameBytes);
    if (known == now) return absl::OkStatus();
    known = std::move(now);
    MarkChanged(scope);
  }
  if (on_change_) on_change_();
  return absl::OkStatus();
}

void NodeTable::LearnMode(const Execution& execution, NodeFacts* facts) {
  if (execution.mode == GRAPHDBG_MODE_UNKNOWN) return;
  const uint8_t mode = static_cast<uint8_t>(1 << execution.mode);
  if ((facts->modes.load(std::memory_order_relaxed) & mode) != 0) return;
  facts->modes.fetch_or(mode, std::memory_order_relaxed);
  {
    MutexLock lock(&mu_);
    MarkChanged(execution.node);
  }
  if (on_change_) on_change_();
}

void NodeTable::Learn(const Execution& execution, uint64_t order,
                      uint64_t step) {
  NodeFacts* facts = Facts(execution.node);
  facts->last_step.store(step, std::memory_order_relaxed);
  facts->last_order.store(order, std::memory_order_relaxed);
  if (execution.has(GRAPHDBG_IN_PLACE)) facts->Set(kWrites, true);
  if (execution.has(GRAPHDBG_EXPLICIT_NONFINITE)) {
    facts->Set(kExplicitNonFinite, true);
  }
  facts->grad_scale.store(execution.grad_scale, std::memory_order_relaxed);
  LearnMode(execution, facts);
  const uint64_t signature = SignatureOf(execution);
  if (facts->signature.load(std::memory_order_relaxed) == signature &&
      !LearnsInputs(execution.inputs, facts)) {
    return;
  }
  LearnAll(execution, order, step, signature);
}

void NodeTable::LearnInputs(const Execution& execution, uint64_t order,
                            uint64_t step) {
  LearnAll(execution, order, step, SignatureOf(execution));
}

bool NodeTable::LearnsInputs(const InputArray& inputs, NodeFacts* facts) {
  if (!inputs.pending()) return true;
  // A lost count does not matter.
  const uint32_t count =
      facts->not_described.load(std::memory_order_relaxed) + 1;
  facts->not_described.store(count, std::memory_order_relaxed);
  return count <= kAlwaysDescribed || count % kDescribedEvery == 0;
}

void NodeTable::LearnAll(const Execution& execution, uint64_t order,
                         uint64_t step, uint64_t signature) {
  NodeFacts* const facts = Facts(execution.node);
  const uint64_t inputs = SignatureOf(execution.inputs);
  if (facts->signature.load(std::memory_order_relaxed) == signature &&
      facts->input_signature.load(std::memory_order_relaxed) == inputs) {
    return;
  }
  facts->not_described.store(0, std::memory_order_relaxed);
  {
    MutexLock lock(&mu_);
    facts->signature.store(signature, std::memory_order_relaxed);
    facts->input_signature.store(inputs, std::memory_order_relaxed);
    facts->Set(kNeverExecuted, false);
    Record& record = records_[execution.node - 1];
    if (record.first_step == 0) {
      record.first_step = step;
      if (record.order == 0) record.order = order;
    }
    record.flags = execution.flags;
    SetInputs(execution.inputs, &record);
    // One that failed has none, and those of before are still described.
    if (execution.error == nullptr) SetOutputs(execution.outputs, &record);
    MarkChanged(execution.node);
  }
  if (on_change_) on_change_();
}

void NodeTable::MarkChanged(uint32_t id) {
  Record& record = records_[id - 1];
  for (size_t reader = 0; reader < readers(); ++reader) {
    if (record.changed[reader]) continue;
    record.changed[reader] = true;
    changes_[reader].nodes.push_back(id);
  }
}

void NodeTable::MarkChanged(const ScopeKey& scope) {
  for (size_t reader = 0; reader < readers(); ++reader) {
    changes_[reader].scopes.push_back(scope);
  }
}

void NodeTable::ResendAll() {
  {
    MutexLock lock(&mu_);
    ChangeAll(kServer);
  }
  if (on_change_) on_change_();
}

void NodeTable::ChangeAll(Reader reader) {
  Changes& changes = changes_[reader];
  changes = Changes();
  for (size_t i = 0; i < records_.size(); ++i) {
    records_[i].changed[reader] = true;
    changes.nodes.push_back(static_cast<uint32_t>(i) + 1);
  }
  for (const auto& [scope, type] : scope_types_) {
    changes.scopes.push_back(scope);
  }
}

void NodeTable::StartReader(Reader reader) {
  MutexLock lock(&mu_);
  if (reader == kRecording) recorded_ = true;
  ChangeAll(reader);
}

void NodeTable::StopReader(Reader reader) {
  MutexLock lock(&mu_);
  if (reader == kRecording) recorded_ = false;
  changes_[reader] = Changes();
}

// Returns the graph of the next update; null if nothing changed. If several
// changed, the one that was declared first, which the page shows first.
const std::string* NodeTable::NextGraph(const Changes& changes) const {
  const std::string* scopes =
      changes.scopes.empty() ? nullptr : &changes.scopes.front().first;
  const std::string* nodes =
      changes.nodes.empty() ? nullptr : At(changes.nodes.front()).graph;
  if (scopes != nullptr && nodes != nullptr) {
    return graphs_.at(*scopes) <= graphs_.at(*nodes) ? scopes : nodes;
  }
  if (scopes != nullptr) return scopes;
  if (nodes != nullptr) return nodes;
  // Executed nodes are reported by their ids, for all graphs at once.
  return next_to_report_ <= records_.size() ? At(next_to_report_).graph
                                            : nullptr;
}

bool NodeTable::TakeUpdate(size_t max_bytes, v1::GraphUpdate* update,
                           Reader reader) {
  MutexLock lock(&mu_);
  Changes& changes = changes_[reader];
  const std::string* next = NextGraph(changes);
  if (next == nullptr) return false;
  const std::string graph = *next;
  update->set_graph(graph);
  size_t bytes = 0;
  while (!changes.scopes.empty() && changes.scopes.front().first == graph &&
         bytes < max_bytes) {
    const std::string& scope = changes.scopes.front().second;
    const std::string& type = scope_types_[changes.scopes.front()];
    bytes += scope.size() + type.size() + 8;
    (*update->mutable_scope_types())[scope] = type;
    changes.scopes.pop_front();
  }
  while (!changes.nodes.empty() && bytes < max_bytes) {
    const uint32_t id = changes.nodes.front();
    Record& record = records_[id - 1];
    if (*record.graph != graph) break;
    changes.nodes.pop_front();
    record.changed[reader] = false;
    v1::Node* const node = update->add_nodes();
    Fill(id, node);
    if (reader == kServer) record.reported_last_step = node->last_step();
    bytes += node->ByteSizeLong();
  }
  if (bytes < max_bytes && reader == kServer) {
    bytes += TakeLastSteps(max_bytes - bytes, update);
  }
  return bytes > 0;
}

void NodeTable::ReportLastSteps() {
  {
    MutexLock lock(&mu_);
    next_to_report_ = 1;
  }
  if (on_change_) on_change_();
}

size_t NodeTable::TakeLastSteps(size_t max_bytes, v1::GraphUpdate* update) {
  constexpr size_t kBytesPerId = 4;
  size_t bytes = 0;
  std::map<uint64_t, v1::SeenNodes*> by_step;
  for (; next_to_report_ <= records_.size() && bytes < max_bytes;
       ++next_to_report_) {
    const uint64_t step =
        Facts(next_to_report_)->last_step.load(std::memory_order_relaxed);
    Record& record = records_[next_to_report_ - 1];
    if (record.reported_last_step == step) continue;
    record.reported_last_step = step;
    v1::SeenNodes*& seen = by_step[step];
    if (seen == nullptr) {
      seen = update->add_seen();
      seen->set_step(step);
    }
    seen->add_node_ids(next_to_report_);
    bytes += kBytesPerId;
  }
  if (next_to_report_ > records_.size()) next_to_report_ = kNothingToReport;
  return bytes;
}

void NodeTable::Fill(uint32_t id, v1::Node* node) const {
  const Record& record = At(id);
  node->set_last_step(Facts(id)->last_step.load(std::memory_order_relaxed));
  node->set_id(id);
  node->set_name(*record.name);
  node->set_kind(static_cast<v1::NodeKind>(record.kind));
  node->set_op_type(*record.op_type);
  node->set_category(static_cast<v1::NodeCategory>(record.category));
  node->set_order(record.order);
  node->set_first_step(record.first_step);
  node->set_forward_node_id(record.forward_node);
  for (const auto& [name, value] : record.attributes) {
    (*node->mutable_attributes())[*name] = *value;
  }
  FillAttributes(record.recomputed, Facts(id)->modes.load(), node);
  for (const Endpoint& endpoint : record.inputs) {
    if (endpoint.node == 0) continue;
    v1::Input* input = node->add_inputs();
    input->set_node_id(endpoint.node);
    input->set_slot(endpoint.slot);
  }
  for (size_t slot = 0; slot < record.outputs.size(); ++slot) {
    const OutputType& type = record.outputs[slot];
    v1::Output* output = node->add_outputs();
    output->set_slot(static_cast<uint32_t>(slot));
    output->mutable_type()->set_dtype(static_cast<v1::DType>(type.dtype));
    output->mutable_type()->set_framework_dtype(*type.framework_dtype);
    for (int64_t size : type.shape) {
      output->mutable_type()->add_shape(std::max<int64_t>(size, 0));
    }
  }
  for (const Frame& from : record.stack) {
    v1::SourceFrame* frame = node->add_stack();
    frame->set_file(*from.file);
    frame->set_function(*from.function);
    frame->set_line(from.line);
    frame->set_user(from.user);
  }
}

uint32_t NodeTable::size() const {
  MutexLock lock(&mu_);
  return static_cast<uint32_t>(records_.size());
}

uint32_t NodeTable::Find(absl::string_view name) const {
  MutexLock lock(&mu_);
  auto it = names_.find(std::string(name));
  return it == names_.end() ? 0 : it->second;
}

NodeTable::Info NodeTable::InfoOf(uint32_t id) const {
  MutexLock lock(&mu_);
  const Record& record = At(id);
  Info info = {*record.name,    *record.op_type,     record.kind,
               record.category, record.forward_node, record.loss};
  if (const Frame* const frame = UserLineOf(id)) {
    info.file = *frame->file;
    info.function = *frame->function;
    info.line = frame->line;
  }
  return info;
}

std::vector<NodeTable::StackFrame> NodeTable::StackOf(uint32_t id) const {
  MutexLock lock(&mu_);
  std::vector<StackFrame> frames;
  if (const std::vector<Frame>* const stack = UserStackOf(id)) {
    frames.reserve(stack->size());
    for (const Frame& frame : *stack) {
      frames.push_back({*frame.file, *frame.function, frame.line, frame.user});
    }
  }
  return frames;
}

const std::vector<NodeTable::Frame>* NodeTable::UserStackOf(uint32_t id) const {
  for (uint32_t node : {At(id).forward_node, id}) {
    if (node == 0) continue;
    for (const Frame& frame : At(node).stack) {
      if (frame.user) return &At(node).stack;
    }
  }
  return nullptr;
}

const NodeTable::Frame* NodeTable::UserLineOf(uint32_t id) const {
  const std::vector<Frame>* const stack = UserStackOf(id);
  if (stack == nullptr) return nullptr;
  for (const Frame& frame : *stack) {
    if (frame.user) return &frame;
  }
  return nullptr;
}

v1::SourceFrame NodeTable::UserFrameOf(uint32_t id) const {
  MutexLock lock(&mu_);
  v1::SourceFrame frame;
  if (const Frame* const from = UserLineOf(id)) {
    frame.set_file(*from->file);
    frame.set_function(*from->function);
    frame.set_line(from->line);
    frame.set_user(true);
  }
  return frame;
}

NodeTable::LastExecution NodeTable::LastExecutionOf(uint32_t id) const {
  MutexLock lock(&mu_);
  const Record& record = At(id);
  return {Facts(id)->last_order.load(), record.flags, record.inputs};
}

v1::Node NodeTable::NodeOf(uint32_t id) const {
  MutexLock lock(&mu_);
  v1::Node node;
  Fill(id, &node);
  return node;
}

NodeTable::Scope NodeTable::ScopeOf(uint32_t id) const {
  MutexLock lock(&mu_);
  const Record& record = At(id);
  const size_t slash = record.name->rfind('/');
  Scope scope;
  if (slash == std::string::npos) return scope;
  scope.name = record.name->substr(0, slash);
  const auto type = scope_types_.find({*record.graph, scope.name});
  if (type == scope_types_.end()) return scope;
  scope.type = type->second;
  // Whatever is below it comes next but for names such as "a-b" behind "a".
  const ScopeKey below = {*record.graph, absl::StrCat(scope.name, "/")};
  const auto next = scope_types_.lower_bound(below);
  scope.leaf = next == scope_types_.end() ||
               next->first.first != *record.graph ||
               !absl::StartsWith(next->first.second, below.second);
  return scope;
}

std::vector<NodeTable::Scope> NodeTable::ScopesOf(uint32_t id) const {
  MutexLock lock(&mu_);
  const Record& record = At(id);
  std::vector<Scope> scopes;
  for (size_t slash = record.name->find('/'); slash != std::string::npos;
       slash = record.name->find('/', slash + 1)) {
    Scope scope;
    scope.name = record.name->substr(0, slash);
    const auto type = scope_types_.find({*record.graph, scope.name});
    if (type != scope_types_.end()) scope.type = type->second;
    scopes.push_back(std::move(scope));
  }
  return scopes;
}

bool NodeTable::IsOptimizerNode(uint32_t id) const {
  MutexLock lock(&mu_);
  return At(id).category == conditions::Category::kOptimizer;
}

bool NodeTable::executes(uint32_t id) const {
  MutexLock lock(&mu_);
  return At(id).kind == GRAPHDBG_OP;
}

}  // namespace graphdbg::agent
