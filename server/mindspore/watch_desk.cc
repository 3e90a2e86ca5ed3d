#include "server/mindspore/watch_desk.h"

#include <algorithm>
#include <utility>

#include "agent/conditions/catalogue.h"
#include "agent/conditions/selector.h"

namespace graphdbg::mindspore {
namespace {

// MindInsight 1.0 says so of every node.
constexpr char kLeaf[] = "leaf";
// Tag and length of a nested message of this size.
constexpr size_t kOverhead = 8;

conditions::NodeSelection SelectionOf(const model::WatchpointSpec& spec) {
  conditions::NodeSelection selection;
  selection.scopes = spec.selection.scopes;
  selection.patterns = spec.selection.patterns;
  selection.categories = spec.selection.categories;
  if (const auto* row = conditions::Find(spec.condition.id)) {
    selection.target = conditions::TargetOf(*row);
  }
  return selection;
}

}  // namespace

void WatchDesk::Configure(const Profile& profile, bool ascend) {
  profile_ = profile;
  ascend_ = ascend;
}

absl::Status WatchDesk::Set(const jobs::SetWatchpointOrder& order) {
  Entry& entry = entries_[order.id];
  entry.order = order;
  const absl::Status applied = Apply(entry);
  stale_.erase(order.id);
  if (coming_ > 0 && --coming_ == 0) RemoveStale();
  return applied;
}

void WatchDesk::SessionBegins(uint32_t coming) {
  stale_.clear();
  for (const auto& [watchpoint, entry] : entries_) {
    if (watchpoint != kKeptNodes) stale_.insert(watchpoint);
  }
  coming_ = coming;
  if (coming_ == 0) RemoveStale();
}

void WatchDesk::RemoveStale() {
  for (uint32_t watchpoint : std::exchange(stale_, {})) Remove(watchpoint);
}

absl::Status WatchDesk::Apply(Entry& entry) {
  Drop(entry.order.id);
  if (!entry.order.spec.enabled) {
    TakeBack(entry, 0);
    return absl::OkStatus();
  }
  auto conditions =
      WireConditionsOf(entry.order.spec.condition, profile_, ascend_);
  if (!conditions.ok()) {
    TakeBack(entry, 0);
    return conditions.status();
  }
  Submit(entry, entry.order.id, *conditions, Expand(entry.order.spec));
  return absl::OkStatus();
}

void WatchDesk::Remove(uint32_t watchpoint) {
  auto it = entries_.find(watchpoint);
  if (it == entries_.end()) return;
  Drop(watchpoint);
  TakeBack(it->second, 0);
  entries_.erase(it);
}

void WatchDesk::Keep(const BookNode& node) {
  if (!kept_nodes_.insert(node.id).second) return;
  Drop(kKeptNodes);
  Submit(entries_[kKeptNodes], kKeptNodes, {NeverMet(profile_)}, KeptLeaves());
}

void WatchDesk::MatchAgain() {
  for (auto& [watchpoint, entry] : entries_) {
    if (watchpoint != kKeptNodes) Apply(entry).IgnoreError();
  }
}

void WatchDesk::ClientIsNew() {
  client_has_.clear();
  unsent_.clear();
  for (auto& [watchpoint, entry] : entries_) entry.numbers.clear();
  MatchAgain();
  auto kept = entries_.find(kKeptNodes);
  if (kept == entries_.end()) return;
  Submit(kept->second, kKeptNodes, {NeverMet(profile_)}, KeptLeaves());
}

void WatchDesk::Restore(const std::map<int, WireWatchpoint>& known,
                        int last_number) {
  last_number_ = std::max(last_number_, last_number);
  for (const auto& [number, about] : known) {
    given_out_[number] = about;
    client_has_.insert(number);
    Entry& entry = entries_[about.watchpoint];
    entry.numbers.push_back(number);
    entry.order.id = about.watchpoint;
    // Until the session sets it again.
    entry.order.spec.enabled = false;
  }
}

debugger::SetCMD WatchDesk::Next() {
  Unsent next = std::move(unsent_.front());
  unsent_.pop_front();
  const int number = next.command.id();
  if (next.command.delete_()) {
    client_has_.erase(number);
  } else {
    client_has_.insert(number);
    given_out_[number] = std::move(next.about);
  }
  return std::move(next.command);
}

const WireWatchpoint* WatchDesk::Find(int number) const {
  auto it = given_out_.find(number);
  return it == given_out_.end() ? nullptr : &it->second;
}

std::map<int, WireWatchpoint> WatchDesk::Known() const {
  std::map<int, WireWatchpoint> known;
  for (int number : client_has_) known[number] = given_out_.at(number);
  return known;
}

void WatchDesk::AddLeaf(const BookNode& node, std::set<std::string>& seen,
                        Leaves& leaves) const {
  // Constants are not loaded; what has no output has nothing to watch.
  if (node.kind == model::NodeKind::kConstant || node.outputs.empty()) return;
  uint32_t slot = 0;
  const BookNode& owner = book_.OwnerOf(node, slot);
  if (!owner.sayable || !seen.insert(owner.wire_name).second) return;
  debugger::WatchNode& leaf = leaves.emplace_back();
  leaf.set_node_name(owner.wire_name);
  leaf.set_node_type(profile_.simple_conditions ? kLeaf : owner.op_type);
  if (profile_.graph_names) leaf.set_graph_name(owner.graph);
}

WatchDesk::Leaves WatchDesk::Expand(const model::WatchpointSpec& spec) const {
  Leaves leaves;
  std::set<std::string> seen;
  conditions::NodeSelection rest = SelectionOf(spec);
  const bool only_listed = !spec.selection.nodes.empty() && rest.everything();
  for (const std::string& name : spec.selection.nodes) {
    const BookNode* node = book_.ByName(name);
    if (node == nullptr) continue;
    if (rest.target && *rest.target != node->category) continue;
    AddLeaf(*node, seen, leaves);
  }
  if (only_listed) return leaves;
  for (const BookNode& node : book_.nodes()) {
    if (conditions::Matches(rest, node.name, node.category)) {
      AddLeaf(node, seen, leaves);
    }
  }
  return leaves;
}

WatchDesk::Leaves WatchDesk::KeptLeaves() const {
  Leaves leaves;
  std::set<std::string> seen;
  for (uint32_t id : kept_nodes_) AddLeaf(*book_.ById(id), seen, leaves);
  return leaves;
}

void WatchDesk::Submit(Entry& entry, uint32_t watchpoint,
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
  TakeBack(entry, position);
}

int WatchDesk::NumberFor(Entry& entry, size_t position) {
  if (position == entry.numbers.size()) entry.numbers.push_back(++last_number_);
  return entry.numbers[position];
}

void WatchDesk::TakeBack(Entry& entry, size_t from) {
  for (size_t i = from; i < entry.numbers.size(); ++i) {
    if (client_has_.count(entry.numbers[i]) == 0) continue;
    Unsent& unsent = unsent_.emplace_back();
    unsent.about.watchpoint = entry.order.id;
    unsent.command.set_id(entry.numbers[i]);
    unsent.command.set_delete_(true);
  }
  if (from < entry.numbers.size()) entry.numbers.resize(from);
}

void WatchDesk::Drop(uint32_t watchpoint) {
  std::erase_if(unsent_, [&](const Unsent& unsent) {
    // What the client has to forget, it still has to.
    return unsent.about.watchpoint == watchpoint && !unsent.command.delete_();
  });
}

}  // namespace graphdbg::mindspore
