#include "server/runs/call_differences.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace graphdbg::recorded {
namespace {

using model::CallDifference;
using model::CallDifferenceKind;
using Input = ComparedNode::Input;

// How many ops in a row may change a tensor in place.
constexpr size_t kMaxChanges = 16;
// The attribute that describes how an op is executed, not what it computes.
constexpr char kMode[] = "mode";

struct Argument {
  // Of the tensor as it was made: a name that both sides have, and its own on
  // this side.
  std::string name;
  std::string own_name;
  // The nodes that have changed it since.
  std::string changes;
};

const ComparedNode* Find(const ComparedNodes& nodes, uint32_t id) {
  const auto found = nodes.find(id);
  return found == nodes.end() ? nullptr : &found->second;
}

std::string Describe(const std::vector<const ComparedNode*>& changes) {
  if (changes.empty()) return "";
  const auto append_name = [](std::string* text, const ComparedNode* node) {
    absl::StrAppend(text, node->name);
  };
  const std::string names = absl::StrJoin(changes, ", ", append_name);
  const std::string& place = changes.front()->place;
  return place.empty() ? names : absl::StrCat(names, " (", place, ")");
}

// Follows a tensor back to the op that made it.
Argument Read(const CallSide& side, Input tensor) {
  std::vector<const ComparedNode*> changes;
  const ComparedNode* node = Find(side.nodes, tensor.node);
  while (node != nullptr && changes.size() < kMaxChanges &&
         IsInPlace(node->op_type) && tensor.slot < node->inputs.size()) {
    changes.push_back(node);
    // The tensors that an op changes are its first arguments, in the order of
    // its results.
    tensor = node->inputs[tensor.slot];
    node = Find(side.nodes, tensor.node);
  }
  std::reverse(changes.begin(), changes.end());
  const std::string own = node == nullptr ? "" : node->name;
  return {absl::StrCat(side.shared_name(tensor.node), ":", tensor.slot),
          absl::StrCat(own, ":", tensor.slot), Describe(changes)};
}

std::vector<Argument> ReadAll(const CallSide& side, const ComparedNode& op) {
  std::vector<Argument> arguments;
  for (const Input& input : op.inputs) arguments.push_back(Read(side, input));
  return arguments;
}

void AddAttributes(const ComparedNode& here, const ComparedNode& there,
                   std::vector<CallDifference>& found) {
  std::map<std::string, std::pair<std::string, std::string>> values;
  for (const auto& [name, value] : here.attributes) values[name].first = value;
  for (const auto& [name, value] : there.attributes) {
    values[name].second = value;
  }
  for (auto& [name, value] : values) {
    if (name == kMode || value.first == value.second) continue;
    found.push_back({CallDifferenceKind::kAttribute, name,
                     std::move(value.first), std::move(value.second)});
  }
}

void AddArguments(const std::vector<Argument>& here,
                  const std::vector<Argument>& there,
                  std::vector<CallDifference>& found) {
  // A list of tensors may have others there.
  if (here.size() != there.size()) return;
  std::set<std::string> names;
  for (const Argument& each : here) names.insert(each.name);
  // Of several with the same name, the last one.
  absl::flat_hash_map<std::string, const Argument*> others;
  for (const Argument& each : there) others[each.name] = &each;
  for (size_t i = 0; i < here.size(); ++i) {
    const Argument& one = here[i];
    const auto same = others.find(one.name);
    if (same == others.end()) {
      if (names.contains(there[i].name)) continue;
      found.push_back({CallDifferenceKind::kInput, absl::StrCat(i),
                       one.own_name, there[i].own_name});
    } else if (one.changes.empty() != same->second->changes.empty()) {
      found.push_back({CallDifferenceKind::kInPlace, one.own_name, one.changes,
                       same->second->changes});
    }
  }
}

}  // namespace

std::vector<CallDifference> CallDifferences(const CallSide& here,
                                            const CallSide& there) {
  std::vector<CallDifference> found;
  const ComparedNode* const first = Find(here.nodes, here.op);
  const ComparedNode* const second = Find(there.nodes, there.op);
  if (first == nullptr || second == nullptr) return found;
  AddAttributes(*first, *second, found);
  AddArguments(ReadAll(here, *first), ReadAll(there, *second), found);
  return found;
}

}  // namespace graphdbg::recorded
