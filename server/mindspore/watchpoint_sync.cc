#include "server/mindspore/watchpoint_sync.h"

#include <algorithm>
#include <utility>

#include "agent/conditions/catalogue.h"
#include "agent/conditions/selector.h"

namespace graphdbg::mindspore {
namespace {

// MindInsight 1.0 sends this type for every node.
constexpr char kLeaf[] = "leaf";
// Upper limit for the tag and the length of a nested message.
constexpr size_t kOverhead = 8;

// The client is told the names of nodes, so it needs no selections.
bool Covers(const conditions::NodeMatcher& matcher, const NodeEntry& node) {
  conditions::NodeDescription description = {node.name, node.category,
                                             node.op_type};
  description.is_op = node.kind == model::NodeKind::kOp;
  if (node.source) {
    description.file = node.source->file;
    description.line = node.source->line;
  }
  return matcher.Matches(description) &&
         (matcher.selects_all_types() ||
          std::any_of(node.outputs.begin(), node.outputs.end(),
                      [&](const model::Output& output) {
                        return matcher.MatchesType(output.type.dtype);
                      }));
}

}  // namespace

void WatchpointSync::Configure(const Profile& profile, bool ascend) {
  profile_ = profile;
  ascend_ = ascend;
}

absl::Status WatchpointSync::Set(const jobs::SetWatchpointOrder& order) {
  Entry& entry = entries_[order.id];
  entry.order = order;
  const absl::Status applied = Apply(entry);
  stale_.erase(order.id);
  if (expected_ > 0 && --expected_ == 0) RemoveStale();
  return applied;
}

void WatchpointSync::BeginSync(uint32_t count) {
  stale_.clear();
  for (const auto& [watchpoint, entry] : entries_) {
    if (watchpoint != kKeptNodes) stale_.insert(watchpoint);
  }
  expected_ = count;
  if (expected_ == 0) RemoveStale();
}

void WatchpointSync::RemoveStale() {
  for (uint32_t watchpoint : std::exchange(stale_, {})) Remove(watchpoint);
}

absl::Status WatchpointSync::Apply(Entry& entry) {
  Drop(entry.order.id);
  if (!entry.order.spec.enabled) {
    RemoveFromClient(entry, 0);
    return absl::OkStatus();
  }
  auto conditions =
      WireConditionsOf(entry.order.spec.condition, profile_, ascend_);
  if (!conditions.ok()) {
    RemoveFromClient(entry, 0);
    return conditions.status();
  }
  Submit(entry, entry.order.id, *conditions, Expand(entry.order.spec));
  return absl::OkStatus();
}

void WatchpointSync::Remove(uint32_t watchpoint) {
  auto it = entries_.find(watchpoint);
  if (it == entries_.end()) return;
  Drop(watchpoint);
  RemoveFromClient(it->second, 0);
  entries_.erase(it);
}

void WatchpointSync::Keep(const NodeEntry& node) {
  if (!kept_nodes_.insert(node.id).second) return;
  Drop(kKeptNodes);
  Submit(entries_[kKeptNodes], kKeptNodes, {NeverMatches(profile_)},
         KeptLeaves());
}

void WatchpointSync::UpdateSelections() {
  for (auto& [watchpoint, entry] : entries_) {
    if (watchpoint != kKeptNodes) Apply(entry).IgnoreError();
  }
}

void WatchpointSync::OnClientReset() {
  on_client_.clear();
  unsent_.clear();
  for (auto& [watchpoint, entry] : entries_) entry.numbers.clear();
  UpdateSelections();
  auto kept = entries_.find(kKeptNodes);
  if (kept == entries_.end()) return;
  Submit(kept->second, kKeptNodes, {NeverMatches(profile_)}, KeptLeaves());
}

void WatchpointSync::Restore(const std::map<int, WireWatchpoint>& known,
                             int last_number) {
  last_number_ = std::max(last_number_, last_number);
  for (const auto& [number, about] : known) {
    assigned_[number] = about;
    on_client_.insert(number);
    Entry& entry = entries_[about.watchpoint];
    entry.numbers.push_back(number);
    entry.order.id = about.watchpoint;
    // The job will set the watchpoint again.
    entry.order.spec.enabled = false;
  }
}

debugger::SetCMD WatchpointSync::Next() {
  Unsent next = std::move(unsent_.front());
  unsent_.pop_front();
  const int number = next.command.id();
  if (next.command.delete_()) {
    on_client_.erase(number);
  } else {
    on_client_.insert(number);
    assigned_[number] = std::move(next.about);
  }
  return std::move(next.command);
}

const WireWatchpoint* WatchpointSync::Find(int number) const {
  auto it = assigned_.find(number);
  return it == assigned_.end() ? nullptr : &it->second;
}

std::map<int, WireWatchpoint> WatchpointSync::Known() const {
  std::map<int, WireWatchpoint> known;
  for (int number : on_client_) known[number] = assigned_.at(number);
  return known;
}

void WatchpointSync::AddLeaf(const NodeEntry& node, std::set<std::string>& seen,
                             Leaves& leaves) const {
  // Clients do not load constants, and a node without outputs has no tensors.
  if (node.kind == model::NodeKind::kConstant || node.outputs.empty()) return;
  uint32_t slot = 0;
  const NodeEntry& owner = nodes_.OwnerOf(node, slot);
  if (!owner.has_utf8_name || !seen.insert(owner.wire_name).second) return;
  debugger::WatchNode& leaf = leaves.emplace_back();
  leaf.set_node_name(owner.wire_name);
  leaf.set_node_type(profile_.simple_conditions ? kLeaf : owner.op_type);
  if (profile_.graph_names) leaf.set_graph_name(owner.graph);
}

WatchpointSync::Leaves WatchpointSync::Expand(
    const model::WatchpointSpec& spec) const {
  Leaves leaves;
  std::set<std::string> seen;
  const auto* const row = conditions::Find(spec.condition.id);
  const conditions::NodeMatcher matcher(
      spec.selection,
      row == nullptr ? conditions::Target() : conditions::TargetOf(*row));
  if (spec.selection.only_listed()) {
    for (const std::string& name : spec.selection.nodes) {
      const NodeEntry* const node = nodes_.ByName(name);
      if (node != nullptr && Covers(matcher, *node)) {
        AddLeaf(*node, seen, leaves);
      }
    }
    return leaves;
  }
  for (const NodeEntry& node : nodes_.nodes()) {
    if (Covers(matcher, node)) AddLeaf(node, seen, leaves);
  }
  return leaves;
}

WatchpointSync::Leaves WatchpointSync::KeptLeaves() const {
  Leaves leaves;
  std::set<std::string> seen;
  for (uint32_t id : kept_nodes_) AddLeaf(*nodes_.ById(id), seen, leaves);
  return leaves;
}

void WatchpointSync::Submit(Entry& entry, uint32_t watchpoint,
                            const std::vector<WireCondition>& conditions,
                            const Leaves& leaves) {
  size_t position = 0;
  for (const WireCondition& condition : conditions) {
    for (size_t at = 0; at < leaves.size();) {
      Unsent& unsent = unsent_.emplace_back();
      unsent.about = {watchpoint, entry.order.revision, entry.order.spec.pause,
                      condition.names};
      debugger::SetCMD& command = unsent.command;
      *command.mutable_watch_condition() = condition.condition;
      command.set_id(NumberFor(entry, position++));
      size_t bytes = command.ByteSizeLong() + kOverhead;
      do {
        bytes += leaves[at].ByteSizeLong() + kOverhead;
        *command.add_watch_nodes() = leaves[at++];
      } while (at < leaves.size() &&
               bytes + leaves[at].ByteSizeLong() + kOverhead <=
                   kMaxCommandBytes);
    }
  }
  RemoveFromClient(entry, position);
}

int WatchpointSync::NumberFor(Entry& entry, size_t position) {
  if (position == entry.numbers.size()) entry.numbers.push_back(++last_number_);
  return entry.numbers[position];
}

void WatchpointSync::RemoveFromClient(Entry& entry, size_t from) {
  for (size_t i = from; i < entry.numbers.size(); ++i) {
    if (on_client_.count(entry.numbers[i]) == 0) continue;
    Unsent& unsent = unsent_.emplace_back();
    unsent.about.watchpoint = entry.order.id;
    unsent.command.set_id(entry.numbers[i]);
    unsent.command.set_delete_(true);
  }
  if (from < entry.numbers.size()) entry.numbers.resize(from);
}

void WatchpointSync::Drop(uint32_t watchpoint) {
  std::erase_if(unsent_, [&](const Unsent& unsent) {
    // Commands that remove a number must still be sent.
    return unsent.about.watchpoint == watchpoint && !unsent.command.delete_();
  });
}

}  // namespace graphdbg::mindspore
