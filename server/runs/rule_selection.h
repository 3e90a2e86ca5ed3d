// The tensors that the rules of a check select.
#ifndef SERVER_RUNS_RULE_SELECTION_H_
#define SERVER_RUNS_RULE_SELECTION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "server/graph/graph_store.h"
#include "server/model/rules.h"
#include "server/model/run.h"

namespace graphdbg::recorded {

// A set of rules: bit i is rule i.
using RuleMask = uint64_t;
inline constexpr size_t kMaxRules = 64;

// A copy of what is needed of the graph, so that it can be used on any thread.
class SelectedTensors {
 public:
  // INVALID_ARGUMENT names the field below the rule's place:
  // "rules[2].select.include[0]".
  static absl::StatusOr<SelectedTensors> Find(
      const graph::GraphStore& graph,
      const std::vector<model::Collection>& collections,
      const std::vector<model::RuleSpec>& rules);

  // The rules that select this output of a node.
  RuleMask RulesOf(graph::NodeIndex node, uint32_t slot) const;
  // The name of a node that some rule selects.
  const std::string& name(graph::NodeIndex node) const {
    return nodes_[node].name;
  }

 private:
  struct Node {
    // Empty if no rule selects it.
    std::string name;
    RuleMask selected = 0;
    RuleMask excluded = 0;
  };

  absl::Status Add(const graph::GraphStore& graph,
                   const std::vector<model::Collection>& collections,
                   const model::RuleSelection& selection, RuleMask rule);
  absl::Status AddCollections(const graph::GraphStore& graph,
                              const std::vector<model::Collection>& collections,
                              const std::vector<std::string>& names,
                              RuleMask rule);

  std::vector<Node> nodes_;
  // Members of collections, which contain single outputs.
  absl::flat_hash_map<std::pair<graph::NodeIndex, uint32_t>, RuleMask> members_;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_RULE_SELECTION_H_
