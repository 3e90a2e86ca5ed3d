#include "server/runs/compared_rank.h"

#include <algorithm>

namespace graphdbg::recorded {

namespace {

// Of the innermost frame in the user's own code.
std::string TextOf(const graph::GraphStore& graph, const graph::Node& node) {
  if (node.stack.empty()) return "";
  const auto own =
      std::find_if(node.stack.begin(), node.stack.end(),
                   [&](graph::FrameIndex i) { return graph.frame(i).user; });
  return graph.frame(own == node.stack.end() ? node.stack.front() : *own).text;
}

}  // namespace

ComparedNodes CopyNodes(const graph::GraphStore& graph,
                        const graph::AgentIds& ids) {
  absl::flat_hash_map<graph::NodeIndex, uint32_t> id_of;
  id_of.reserve(ids.nodes.size());
  for (const auto& [id, index] : ids.nodes) id_of.emplace(index, id);
  const auto find = [&id_of](graph::NodeIndex index) {
    const auto found = id_of.find(index);
    return found == id_of.end() ? 0 : found->second;
  };
  ComparedNodes nodes;
  nodes.reserve(ids.nodes.size());
  for (const auto& [id, index] : ids.nodes) {
    const graph::Node& node = graph.node(index);
    ComparedNode& copy = nodes[id];
    copy.name = node.name;
    copy.kind = node.kind;
    copy.op_type = node.op_type;
    copy.category = node.category;
    copy.outputs = node.outputs;
    copy.text = TextOf(graph, node);
    copy.order = node.order;
    copy.first_step = node.first_step;
    copy.forward = find(node.forward);
    for (const graph::Input& input : node.inputs) {
      const uint32_t producer = input.control ? 0 : find(input.node);
      if (producer != 0) copy.inputs.push_back({producer, input.slot});
    }
  }
  return nodes;
}

}  // namespace graphdbg::recorded
