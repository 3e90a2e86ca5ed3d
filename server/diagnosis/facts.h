// What is known of a hit: the op, what it has read and made, and its place in
// the graph.
#ifndef SERVER_DIAGNOSIS_FACTS_H_
#define SERVER_DIAGNOSIS_FACTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/graph/graph_store.h"
#include "server/model/graph.h"
#include "server/model/tensor.h"
#include "server/model/watch.h"

namespace graphdbg::diagnosis {

// "aten::_softmax", "aten::log_" and "Log" are "softmax", "log" and "log".
std::string BaseOp(std::string_view op_type);

struct NodeFacts {
  // Empty if it is not known.
  std::string name;
  // BaseOp of its type.
  std::string op;
  model::NodeKind kind = model::NodeKind::kOp;
  // Arguments that are not tensors, by name.
  std::map<std::string, std::string> attributes;
  model::Category category = model::Category::kOther;

  // The attribute as a number. Absent if there is none or it is no number.
  std::optional<double> Number(std::string_view attribute) const;
};

// A tensor that the op has read.
struct InputFacts {
  NodeFacts producer;
  uint32_t slot = 0;
  model::TensorType type;
  // As the op has read it. Absent if it was not measured.
  std::optional<model::Statistics> statistics;
};

struct Facts {
  // With `sent_by`.
  model::Hit hit;
  NodeFacts node;
  // In the order of the op's arguments.
  std::vector<InputFacts> inputs;
  // Of a backward op.
  NodeFacts forward;
  // Those that read the output.
  std::vector<NodeFacts> readers;
  // The same op of a neighbouring layer, and the number of that layer.
  std::string sibling;
  std::string sibling_layer;
  // How many earlier runs of the same op the hit's value depends on: runs in
  // the same scope and from the same lines, as a loop makes them.
  uint32_t earlier_runs = 0;
};

// The facts of a hit on a node of the graph.
Facts FactsOf(const graph::GraphStore& graph, const model::Hit& hit);

}  // namespace graphdbg::diagnosis

#endif  // SERVER_DIAGNOSIS_FACTS_H_
