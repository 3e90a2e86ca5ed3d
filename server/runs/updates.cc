#include "server/runs/updates.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace graphdbg::recorded {
namespace {

using model::Category;

// Parts of the names of ops.
constexpr const char* kAdaptive[] = {"sqrt",    "sign", "adam",
                                     "adagrad", "lamb", "rmsprop"};

bool Divides(const std::string& op_type) {
  const std::string type = absl::AsciiStrToLower(op_type);
  return std::any_of(
      std::begin(kAdaptive), std::end(kAdaptive),
      [&type](const char* part) { return absl::StrContains(type, part); });
}

// Sets of ops that are connected to each other.
class Connected {
 public:
  void Add(uint32_t op) { first_.emplace(op, op); }
  bool Has(uint32_t op) const { return first_.contains(op); }
  void Join(uint32_t a, uint32_t b) { first_[RootOf(a)] = RootOf(b); }
  // One of the ops that are connected to an op, the same for all of them.
  uint32_t RootOf(uint32_t op) {
    while (first_.at(op) != op) {
      first_[op] = first_.at(first_.at(op));
      op = first_.at(op);
    }
    return op;
  }

 private:
  absl::flat_hash_map<uint32_t, uint32_t> first_;
};

void AddOptimizers(const ComparedNodes& nodes, Updates& updates) {
  Connected connected;
  for (const auto& [id, node] : nodes) {
    if (node.category == Category::kOptimizer) connected.Add(id);
  }
  absl::flat_hash_map<uint32_t, std::vector<uint32_t>> read;
  for (const auto& [id, node] : nodes) {
    if (node.category != Category::kOptimizer) continue;
    for (const ComparedNode::Input& input : node.inputs) {
      if (connected.Has(input.node)) {
        connected.Join(input.node, id);
      } else if (updates.parameter_of.contains(input.node)) {
        read[id].push_back(input.node);
      }
    }
  }
  absl::flat_hash_map<uint32_t, absl::flat_hash_set<uint32_t>> together;
  for (const auto& [id, gradients] : read) {
    together[connected.RootOf(id)].insert(gradients.begin(), gradients.end());
  }
  absl::flat_hash_set<uint32_t> divide;
  for (const auto& [id, node] : nodes) {
    if (connected.Has(id) && Divides(node.op_type)) {
      divide.insert(connected.RootOf(id));
    }
  }
  for (const auto& [id, node] : nodes) {
    if (node.category != Category::kOptimizer) continue;
    if (divide.contains(connected.RootOf(id))) updates.adaptive.insert(id);
    const auto found = together.find(connected.RootOf(id));
    if (found == together.end()) continue;
    updates.gradients_of[id].assign(found->second.begin(), found->second.end());
  }
}

}  // namespace

Updates FindUpdates(const ComparedNodes& nodes) {
  Updates updates;
  for (const auto& [id, node] : nodes) {
    const auto forward = nodes.find(node.forward);
    if (node.category != Category::kGradient || forward == nodes.end() ||
        forward->second.kind != model::NodeKind::kParameter) {
      continue;
    }
    updates.parameter_of[id] = node.forward;
    updates.gradients_of[node.forward].push_back(id);
  }
  AddOptimizers(nodes, updates);
  return updates;
}

}  // namespace graphdbg::recorded
