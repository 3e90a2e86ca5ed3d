#include "server/runs/compared_rank.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace graphdbg::recorded {

namespace {

// The innermost frame in the user's own code; null if there is no stack.
const model::SourceLine* LineOf(const graph::GraphStore& graph,
                                const graph::Node& node) {
  if (node.stack.empty()) return nullptr;
  const auto own =
      std::find_if(node.stack.begin(), node.stack.end(),
                   [&](graph::FrameIndex i) { return graph.frame(i).user; });
  return &graph.frame(own == node.stack.end() ? node.stack.front() : *own);
}

}  // namespace

bool IsInPlace(const std::string& op_type) {
  // Behind a dot there is the overload.
  const std::string_view name(op_type.data(),
                              std::min(op_type.find('.'), op_type.size()));
  return name.ends_with('_');
}

ComparedNodes CopyNodes(const graph::GraphStore& graph,
                        const graph::AgentIds& ids) {
  absl::flat_hash_map<graph::NodeIndex, uint32_t> id_of;
  id_of.reserve(ids.nodes.size());
  ids.nodes.ForEach([&id_of](uint32_t id, graph::NodeIndex index) {
    id_of.emplace(index, id);
  });
  const auto find = [&id_of](graph::NodeIndex index) {
    const auto found = id_of.find(index);
    return found == id_of.end() ? 0 : found->second;
  };
  ComparedNodes nodes;
  nodes.reserve(ids.nodes.size());
  ids.nodes.ForEach([&](uint32_t id, graph::NodeIndex index) {
    const graph::Node& node = graph.node(index);
    ComparedNode& copy = nodes[id];
    copy.name = node.name;
    copy.kind = node.kind;
    copy.op_type = node.op_type;
    copy.category = node.category;
    copy.outputs = node.outputs;
    copy.attributes = node.attributes;
    if (const model::SourceLine* const line = LineOf(graph, node)) {
      copy.text = line->text;
      if (IsInPlace(node.op_type)) {
        copy.place = absl::StrCat(line->file, ":", line->line);
      }
    }
    copy.order = node.order;
    copy.first_step = node.first_step;
    copy.forward = find(node.forward);
    for (const graph::Input& input : node.inputs) {
      const uint32_t producer = input.control ? 0 : find(input.node);
      if (producer != 0) copy.inputs.push_back({producer, input.slot});
    }
  });
  return nodes;
}

}  // namespace graphdbg::recorded
