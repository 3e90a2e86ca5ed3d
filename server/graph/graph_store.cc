#include "server/graph/graph_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"

namespace graphdbg::graph {
namespace {

// The scope in a full name; empty for a name at the top.
std::string_view ScopePart(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view()
                                         : name.substr(0, slash);
}

// Names are shown in errors up to this length.
constexpr size_t kShownBytes = 200;

absl::Status CheckName(std::string_view name, const GraphLimits& limits) {
  const std::string shown(name.substr(0, kShownBytes));
  if (name.size() > limits.max_name_bytes) {
    return Error(absl::StatusCode::kInvalidArgument, "invalid_name",
                 absl::StrCat("the name \"", shown, "...\" has ", name.size(),
                              " bytes; the limit is ", limits.max_name_bytes));
  }
  uint32_t depth = 0;
  size_t start = 0;
  while (true) {
    const size_t end = std::min(name.find('/', start), name.size());
    if (end == start) {
      return Error(absl::StatusCode::kInvalidArgument, "invalid_name",
                   absl::StrCat("name \"", shown, "\" has an empty segment"));
    }
    if (++depth > limits.max_depth) {
      return Error(absl::StatusCode::kInvalidArgument, "invalid_name",
                   absl::StrCat("name \"", shown, "\" has more than ",
                                limits.max_depth, " segments"));
    }
    if (end == name.size()) return absl::OkStatus();
    start = end + 1;
  }
}

absl::Status Exhausted(const std::string& what) {
  return Error(absl::StatusCode::kResourceExhausted, "graph_too_large", what);
}

// `N` is Node, or the NodeRecord that a node is made from.
template <class N>
uint64_t WeightOf(const N& node) {
  uint64_t bytes = sizeof(Node) + 2 * node.name.size() + node.op_type.size() +
                   node.inputs.size() * (sizeof(Input) + sizeof(Consumer)) +
                   node.stack.size() * sizeof(FrameIndex);
  for (const auto& output : node.outputs) {
    bytes += sizeof(output) + output.type.framework_dtype.size() +
             output.type.shape.size() * sizeof(int64_t);
  }
  for (const auto& [key, value] : node.attributes) {
    bytes += 96 + key.size() + value.size();
  }
  return bytes;
}

}  // namespace

absl::Status GraphStore::Apply(const GraphPatch& patch, AgentIds& ids,
                               GraphChanges* changes) {
  ASSIGN_OR_RETURN(const uint32_t graph, EnsureGraph(patch.graph));
  GraphChanges ignored;
  if (changes == nullptr) changes = &ignored;
  const absl::Status applied = ApplyTo(graph, patch, ids, *changes);
  auto& nodes = changes->nodes;
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  if (patch.changes_graph()) ++version_;
  return applied;
}

absl::Status GraphStore::ApplyTo(uint32_t graph, const GraphPatch& patch,
                                 AgentIds& ids, GraphChanges& changes) {
  AddFiles(patch.files, changes);
  for (const auto& [name, type] : patch.scope_types) {
    RETURN_IF_ERROR(CheckName(name, limits_));
    RETURN_IF_ERROR(CheckSize(name, type.size()));
    ASSIGN_OR_RETURN(const ScopeIndex index, EnsureScope(graph, name));
    Scope& scope = scopes_[index];
    if (scope.type == type) continue;
    bytes_ += type.size();
    bytes_ -= scope.type.size();
    scope.type = type;
    changes.scopes.push_back(index);
  }
  const size_t fitting = CountFitting(graph, patch, ids);
  absl::Status refused;
  if (fitting < patch.nodes.size()) {
    refused = TooLarge(patch.nodes[fitting].name);
  }
  // Names come first: nodes of a patch may refer to each other in any order.
  std::vector<NodeIndex> indices;
  indices.reserve(fitting);
  for (size_t i = 0; i < fitting; ++i) {
    const auto index = EnsureNode(graph, patch.nodes[i], ids, changes);
    if (!index.ok()) {
      refused = index.status();
      break;
    }
    indices.push_back(*index);
  }
  for (size_t i = 0; i < indices.size(); ++i) {
    Fill(indices[i], patch.nodes[i], ids, changes);
  }
  RETURN_IF_ERROR(refused);
  for (const auto& [step, seen] : patch.seen) {
    for (uint32_t id : seen) {
      const NodeIndex index = ids.Find(id);
      if (index == kNoNode) continue;
      nodes_[index].last_step = std::max(nodes_[index].last_step, step);
    }
  }
  return absl::OkStatus();
}

void GraphStore::AddFiles(const std::vector<FileRecord>& files,
                          GraphChanges& changes) {
  for (const auto& [file, text, digest] : files) {
    const auto known = files_.find(file);
    const uint64_t before =
        known == files_.end() ? 0 : known->second.text.size();
    // Ranks of one job have the same files.
    if (known != files_.end() && known->second.text == text) {
      if (digest != 0) known->second.digest = digest;
      continue;
    }
    const bool too_many =
        known == files_.end() && files_.size() >= limits_.max_files;
    if (too_many ||
        file_bytes_ - before + text.size() > limits_.max_file_bytes) {
      continue;
    }
    file_bytes_ = file_bytes_ - before + text.size();
    bytes_ = bytes_ - before + text.size();
    files_[file] = {text, digest};
    changes.files.push_back(file);
  }
}

const std::string* GraphStore::FileText(std::string_view file) const {
  const auto it = files_.find(std::string(file));
  return it == files_.end() ? nullptr : &it->second.text;
}

bool GraphStore::HasFile(std::string_view file, Digest digest) const {
  const auto it = files_.find(std::string(file));
  return it != files_.end() && digest != 0 && it->second.digest == digest;
}

size_t GraphStore::CountFitting(uint32_t graph, const GraphPatch& patch,
                                const AgentIds& ids) const {
  uint64_t total = bytes();
  for (size_t i = 0; i < patch.nodes.size(); ++i) {
    total += GrowthFor(graph, patch.nodes[i], ids);
    if (total > limits_.max_bytes) return i;
  }
  return patch.nodes.size();
}

uint64_t GraphStore::GrowthFor(uint32_t graph, const NodeRecord& record,
                               const AgentIds& ids) const {
  uint64_t bytes = WeightOf(record);
  const NodeIndex known = FindNode(record.name);
  if (known != kNoNode) {
    bytes -= std::min(bytes, nodes_[known].weight_bytes);
  }
  const Graph& g = graphs_[graph];
  for (auto scope = ScopePart(record.name);
       !scope.empty() && !g.scopes.contains(scope); scope = ScopePart(scope)) {
    bytes += sizeof(Scope) + scope.size();
  }
  for (const model::SourceLine& line : record.stack) {
    bytes += frames_.GrowthFor(line);
  }
  for (const InputRecord& input : record.inputs) {
    if (ids.Find(input.node_id) == kNoNode) bytes += sizeof(WaitingInput);
  }
  return bytes;
}

absl::Status GraphStore::RestorePatches(
    const std::vector<GraphPatch>& patches) {
  const GraphLimits intake = limits_;
  for (uint32_t* limit :
       {&limits_.max_nodes, &limits_.max_scopes, &limits_.max_graphs,
        &limits_.max_depth, &limits_.max_name_bytes,
        &limits_.max_attribute_bytes}) {
    *limit += *limit / 10;
  }
  limits_.max_edges += limits_.max_edges / 10;
  limits_.max_bytes += limits_.max_bytes / 10;
  AgentIds by_index;
  absl::Status restored;
  for (const GraphPatch& patch : patches) {
    restored = Apply(patch, by_index);
    if (!restored.ok()) break;
  }
  limits_ = intake;
  return restored;
}

void GraphStore::RestoreFrames(const std::vector<model::SourceLine>& frames) {
  for (const model::SourceLine& frame : frames) frames_.Add(frame);
}

void GraphStore::RestoreLastSteps(const std::vector<uint64_t>& steps) {
  const size_t count = std::min(steps.size(), nodes_.size());
  for (size_t i = 0; i < count; ++i) {
    nodes_[i].last_step = std::max(nodes_[i].last_step, steps[i]);
  }
}

absl::StatusOr<uint32_t> GraphStore::EnsureGraph(const std::string& id) {
  const std::string_view name = id.empty() ? kMainGraph : id;
  for (uint32_t i = 0; i < graphs_.size(); ++i) {
    if (graphs_[i].id == name) return i;
  }
  if (graphs_.size() >= limits_.max_graphs) {
    return Exhausted(absl::StrCat("more than ", limits_.max_graphs, " graphs"));
  }
  const ScopeIndex root = static_cast<ScopeIndex>(scopes_.size());
  scopes_.push_back(Scope{});
  scopes_.back().parent = root;
  graphs_.push_back(Graph{std::string(name), root, 0, 0, {}});
  graphs_.back().scopes.emplace(std::string_view(), root);
  return static_cast<uint32_t>(graphs_.size() - 1);
}

absl::StatusOr<ScopeIndex> GraphStore::EnsureScope(uint32_t graph,
                                                   std::string_view name) {
  Graph& g = graphs_[graph];
  auto it = g.scopes.find(name);
  if (it != g.scopes.end()) return it->second;
  ASSIGN_OR_RETURN(const ScopeIndex parent,
                   EnsureScope(graph, ScopePart(name)));
  if (scopes_.size() >= limits_.max_scopes) {
    return Exhausted(absl::StrCat("more than ", limits_.max_scopes, " scopes"));
  }
  const ScopeIndex index = static_cast<ScopeIndex>(scopes_.size());
  scopes_.push_back(Scope{});
  Scope& scope = scopes_.back();
  scope.name = std::string(name);
  scope.parent = parent;
  scope.depth = scopes_[parent].depth + 1;
  scopes_[parent].scopes.push_back(index);
  g.scopes.emplace(scope.name, index);
  bytes_ += sizeof(Scope) + name.size();
  return index;
}

absl::StatusOr<NodeIndex> GraphStore::EnsureNode(uint32_t graph,
                                                 const NodeRecord& record,
                                                 AgentIds& ids,
                                                 GraphChanges& changes) {
  if (record.id == 0 || record.id > NodeIds::kMaxId) {
    return Error(absl::StatusCode::kInvalidArgument, "invalid_node",
                 absl::StrCat("node \"", record.name, "\" has id ", record.id,
                              "; ids are from 1 to ", NodeIds::kMaxId));
  }
  const NodeIndex known = ids.Find(record.id);
  if (known != kNoNode && nodes_[known].name != record.name) {
    return Error(absl::StatusCode::kInvalidArgument, "invalid_node",
                 absl::StrCat("node ", record.id, " was \"", nodes_[known].name,
                              "\" and cannot become \"", record.name, "\""));
  }
  RETURN_IF_ERROR(CheckRecord(record));
  if (known != kNoNode) {
    CountInputs(nodes_[known], record.inputs.size());
    return known;
  }
  RETURN_IF_ERROR(CheckName(record.name, limits_));
  NodeIndex index = FindNode(record.name);
  if (index == kNoNode) {
    if (nodes_.size() >= limits_.max_nodes) {
      return Exhausted(absl::StrCat("more than ", limits_.max_nodes, " nodes"));
    }
    ASSIGN_OR_RETURN(const ScopeIndex scope,
                     EnsureScope(graph, ScopePart(record.name)));
    index = static_cast<NodeIndex>(nodes_.size());
    nodes_.push_back(Node{});
    Node& node = nodes_.back();
    node.name = record.name;
    name_bytes_ += node.name.size();
    node.kind = record.kind;
    node.graph = graph;
    node.scope = scope;
    by_name_.emplace(node.name, index);
    changes.nodes.push_back(index);
    scopes_[scope].nodes.push_back(index);
    ++graphs_[graph].node_count;
    for (ScopeIndex s = scope;; s = scopes_[s].parent) {
      ++scopes_[s].descendants;
      if (scopes_[s].parent == s) break;
    }
  }
  CountInputs(nodes_[index], record.inputs.size());
  ids.nodes.Add(record.id, index, &id_pages_);
  changes.ids.emplace_back(record.id, index);
  ResolveWaiting(ids, record.id, index, changes);
  return index;
}

void GraphStore::Fill(NodeIndex index, const NodeRecord& record, AgentIds& ids,
                      GraphChanges& changes) {
  Node& node = nodes_[index];
  bool changed = false;
  auto set = [&changed](auto& field, auto value) {
    if (field == value) return;
    field = std::move(value);
    changed = true;
  };
  set(node.op_type, record.op_type);
  set(node.category, record.category);
  set(node.outputs, record.outputs);
  set(node.attributes, record.attributes);
  set(node.order, record.order);
  set(node.first_step, record.first_step);
  node.last_step = std::max(node.last_step, record.last_step);
  set(node.forward, ids.Find(record.forward_node_id));
  std::vector<FrameIndex> stack;
  for (const model::SourceLine& line : record.stack) {
    stack.push_back(frames_.Add(line));
  }
  set(node.stack, std::move(stack));
  RecordOrder(node.scope, record.order);

  std::vector<Input> inputs;
  inputs.reserve(record.inputs.size());
  for (const InputRecord& input : record.inputs) {
    inputs.push_back({ids.Find(input.node_id), input.slot, input.control});
  }
  changed |= SetInputs(index, std::move(inputs));
  changed |= SetDigest(index, record, changed);
  if (changed) changes.nodes.push_back(index);
  for (uint32_t i = 0; i < record.inputs.size(); ++i) {
    const uint32_t agent_id = record.inputs[i].node_id;
    if (agent_id == 0 || node.inputs[i].node != kNoNode) continue;
    ids.waiting[agent_id].push_back({index, i, node.inputs_revision});
    bytes_ += sizeof(WaitingInput);
  }

  bytes_ -= node.weight_bytes;
  node.weight_bytes = WeightOf(node);
  bytes_ += node.weight_bytes;
}

bool GraphStore::SetDigest(NodeIndex index, const NodeRecord& record,
                           bool changed) {
  Node& node = nodes_[index];
  // A sender without digests has sent what is known.
  if (record.digest == 0 && !changed) return false;
  // Nodes that it refers to are not known: for those that offer it next, too,
  // it must wait for them.
  bool complete = record.forward_node_id == 0 || node.forward != kNoNode;
  for (size_t i = 0; i < record.inputs.size(); ++i) {
    complete &= record.inputs[i].node_id == 0 || node.inputs[i].node != kNoNode;
  }
  const Digest digest = complete ? record.digest : 0;
  if (digest == node.digest) return false;
  if (FindDigest(node.digest) == index) by_digest_.erase(node.digest);
  node.digest = digest;
  if (digest != 0) by_digest_[digest] = index;
  return true;
}

NodeIndex GraphStore::FindDigest(Digest digest) const {
  const auto it = by_digest_.find(digest);
  return it == by_digest_.end() ? kNoNode : it->second;
}

void GraphStore::AddKnown(uint32_t id, NodeIndex node, AgentIds& ids,
                          GraphChanges& changes) {
  ids.nodes.Add(id, node, &id_pages_);
  ResolveWaiting(ids, id, node, changes);
}

absl::Status GraphStore::CheckRecord(const NodeRecord& record) const {
  const std::string shown = record.name.substr(0, kShownBytes);
  const NodeIndex known = FindNode(record.name);
  const uint64_t replaced =
      known == kNoNode ? 0 : nodes_[known].declared_inputs;
  if (edge_count_ - replaced + record.inputs.size() > limits_.max_edges) {
    return Exhausted(absl::StrCat("more than ", limits_.max_edges,
                                  " edges at \"", shown, "\""));
  }
  for (const auto& [key, value] : record.attributes) {
    if (value.size() <= limits_.max_attribute_bytes) continue;
    return Error(
        absl::StatusCode::kInvalidArgument, "invalid_node",
        absl::StrCat("attribute \"", key.substr(0, kShownBytes),
                     "\" of node \"", shown, "\" has ", value.size(),
                     " bytes; the limit is ", limits_.max_attribute_bytes));
  }
  return absl::OkStatus();
}

void GraphStore::CountInputs(Node& node, size_t count) {
  edge_count_ += count;
  edge_count_ -= node.declared_inputs;
  node.declared_inputs = static_cast<uint32_t>(count);
}

absl::Status GraphStore::CheckSize(std::string_view name,
                                   uint64_t growth) const {
  return bytes() + growth > limits_.max_bytes ? TooLarge(name)
                                              : absl::OkStatus();
}

absl::Status GraphStore::TooLarge(std::string_view name) const {
  return Exhausted(absl::StrCat("the graph would take more than ",
                                limits_.max_bytes, " bytes at \"",
                                std::string(name), "\""));
}

void GraphStore::ResolveWaiting(AgentIds& ids, uint32_t agent_id,
                                NodeIndex index, GraphChanges& changes) {
  auto it = ids.waiting.find(agent_id);
  if (it == ids.waiting.end()) return;
  for (const WaitingInput& waiting : it->second) {
    Node& consumer = nodes_[waiting.consumer];
    if (consumer.inputs_revision != waiting.revision) continue;
    // The consumer may have been reported twice with the same inputs.
    if (consumer.inputs[waiting.position].node != kNoNode) continue;
    consumer.inputs[waiting.position].node = index;
    changes.nodes.push_back(waiting.consumer);
    Link(waiting.consumer, waiting.position);
  }
  bytes_ -= it->second.size() * sizeof(WaitingInput);
  ids.waiting.erase(it);
}

bool GraphStore::SetInputs(NodeIndex index, std::vector<Input> inputs) {
  Node& node = nodes_[index];
  if (node.inputs == inputs) return false;
  for (uint32_t i = 0; i < node.inputs.size(); ++i) Unlink(index, i);
  node.inputs = std::move(inputs);
  ++node.inputs_revision;
  for (uint32_t i = 0; i < node.inputs.size(); ++i) Link(index, i);
  return true;
}

void GraphStore::Link(NodeIndex consumer, uint32_t position) {
  Input& input = nodes_[consumer].inputs[position];
  if (input.node == kNoNode) return;
  auto& consumers = nodes_[input.node].consumers;
  input.link = static_cast<uint32_t>(consumers.size());
  consumers.push_back({consumer, position});
  CountEdge(input.node, consumer, input.control, +1);
}

void GraphStore::Unlink(NodeIndex consumer, uint32_t position) {
  const Input& input = nodes_[consumer].inputs[position];
  if (input.node == kNoNode) return;
  auto& consumers = nodes_[input.node].consumers;
  // The last entry takes the place of the removed one.
  const Consumer last = consumers.back();
  nodes_[last.node].inputs[last.position].link = input.link;
  consumers[input.link] = last;
  consumers.pop_back();
  CountEdge(input.node, consumer, input.control, -1);
}

void GraphStore::CountEdge(NodeIndex from, NodeIndex to, bool control, int by) {
  if (nodes_[from].graph != nodes_[to].graph) return;
  graphs_[nodes_[to].graph].edge_count += by;
  if (from == to) return;
  Child a{false, from};
  Child b{false, to};
  ScopeIndex above_a = nodes_[from].scope;
  ScopeIndex above_b = nodes_[to].scope;
  while (above_a != above_b) {
    if (scopes_[above_a].depth >= scopes_[above_b].depth) {
      a = {true, above_a};
      above_a = scopes_[above_a].parent;
    } else {
      b = {true, above_b};
      above_b = scopes_[above_b].parent;
    }
  }
  auto& edges = scopes_[above_a].edges;
  auto it = edges.try_emplace(LiftedEdge{a, b, control}, 0).first;
  it->second += by;
  if (it->second == 0) edges.erase(it);
}

void GraphStore::RecordOrder(ScopeIndex scope, uint64_t order) {
  if (order == 0) return;
  for (ScopeIndex s = scope;; s = scopes_[s].parent) {
    if (scopes_[s].order != 0 && scopes_[s].order <= order) break;
    scopes_[s].order = order;
    if (scopes_[s].parent == s) break;
  }
}

NodeIndex GraphStore::FindNode(std::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? kNoNode : it->second;
}

const Graph* GraphStore::FindGraph(std::string_view id) const {
  const std::string_view name = id.empty() ? kMainGraph : id;
  for (const Graph& graph : graphs_) {
    if (graph.id == name) return &graph;
  }
  return id.empty() && !graphs_.empty() ? &graphs_.front() : nullptr;
}

absl::StatusOr<ScopeIndex> GraphStore::FindScope(std::string_view graph,
                                                 std::string_view name) const {
  const Graph* g = FindGraph(graph);
  if (g == nullptr) {
    return Error(absl::StatusCode::kNotFound, "unknown_graph",
                 absl::StrCat("no graph \"", std::string(graph), "\""));
  }
  auto it = g->scopes.find(name);
  if (it == g->scopes.end()) {
    return Error(absl::StatusCode::kNotFound, "unknown_scope",
                 absl::StrCat("no scope \"", std::string(name), "\""));
  }
  return it->second;
}

const std::vector<FrameIndex>& GraphStore::StackOf(NodeIndex i) const {
  const Node& node = nodes_[i];
  // One lookup suffices: a forward op has no forward op of its own.
  const Node& origin = node.forward == kNoNode ? node : nodes_[node.forward];
  return origin.stack.empty() ? node.stack : origin.stack;
}

const model::SourceLine* GraphStore::SourceOf(NodeIndex i) const {
  const std::vector<FrameIndex>& stack = StackOf(i);
  for (FrameIndex frame : stack) {
    if (frames_.frame(frame).user) return &frames_.frame(frame);
  }
  return stack.empty() ? nullptr : &frames_.frame(stack.front());
}

}  // namespace graphdbg::graph
