#include "server/watch/coverage.h"

#include <algorithm>

#include "agent/conditions/catalogue.h"
#include "agent/tensor/dtype.h"

namespace graphdbg::watch {
namespace {

constexpr size_t kMaxExamples = 20;

// What a check takes, after the measurements of agent/docs/overhead.md: a fixed
// time for each op that is followed, and the time to read its outputs once.
// Hits, and conditions that compare with the previous step, take longer.
struct Cost {
  double seconds_per_op;
  double bytes_per_second;
};
constexpr Cost kOnCpu = {5e-6, 8e9};
constexpr Cost kOnAccelerator = {15e-6, 5e11};

uint64_t ElementsOf(const model::TensorType& type) {
  uint64_t count = 1;
  for (const int64_t size : type.shape) {
    count *= static_cast<uint64_t>(std::max<int64_t>(size, 0));
  }
  return count;
}

// As agent/core/line_runs.h decides.
bool Selects(const conditions::NodeMatcher& matcher,
             const graph::GraphStore& graph, graph::NodeIndex node) {
  const conditions::NodeDescription description = Describe(graph, node);
  if (matcher.Matches(description)) return true;
  if (!matcher.follows_calls()) return false;
  const std::vector<graph::FrameIndex>& stack = graph.StackOf(node);
  return std::any_of(stack.begin(), stack.end(), [&](graph::FrameIndex i) {
    const model::SourceLine& frame = graph.frame(i);
    return frame.user &&
           matcher.MatchesCall(description, frame.file, frame.line);
  });
}

}  // namespace

conditions::NodeDescription Describe(const graph::GraphStore& graph,
                                     graph::NodeIndex index) {
  const graph::Node& node = graph.node(index);
  conditions::NodeDescription description = {node.name, node.category,
                                             node.op_type};
  description.is_op = node.kind == model::NodeKind::kOp;
  if (const model::SourceLine* const source = graph.SourceOf(index)) {
    description.file = source->file;
    description.line = source->line;
  }
  return description;
}

conditions::NodeMatcher MatcherOf(const model::WatchpointSpec& spec) {
  return conditions::NodeMatcher(
      spec.selection,
      conditions::TargetOf(*conditions::Find(spec.condition.id)));
}

bool Covers(const conditions::NodeMatcher& matcher,
            const graph::GraphStore& graph, graph::NodeIndex node) {
  if (!Selects(matcher, graph, node)) return false;
  const std::vector<model::Output>& outputs = graph.node(node).outputs;
  return matcher.selects_all_types() || outputs.empty() ||
         std::any_of(outputs.begin(), outputs.end(),
                     [&](const model::Output& output) {
                       return matcher.MatchesType(output.type.dtype);
                     });
}

model::SelectionPreview PreviewOf(const model::WatchpointSpec& spec,
                                  const graph::GraphStore& graph,
                                  bool on_accelerator) {
  model::SelectionPreview preview;
  const conditions::NodeMatcher matcher = MatcherOf(spec);
  for (graph::NodeIndex i = 0; i < graph.node_count(); ++i) {
    if (!Covers(matcher, graph, i)) continue;
    ++preview.node_count;
    if (preview.examples.size() < kMaxExamples) {
      preview.examples.push_back(graph.node(i).name);
    }
    for (const model::Output& output : graph.node(i).outputs) {
      if (!matcher.MatchesType(output.type.dtype)) continue;
      ++preview.tensors;
      preview.bytes += ElementsOf(output.type) * ItemSize(output.type.dtype);
    }
  }
  const Cost cost = on_accelerator ? kOnAccelerator : kOnCpu;
  const bool reads = conditions::Find(spec.condition.id)->target != "op";
  preview.seconds_per_step =
      static_cast<double>(preview.node_count) * cost.seconds_per_op +
      (reads ? static_cast<double>(preview.bytes) / cost.bytes_per_second : 0);
  return preview;
}

}  // namespace graphdbg::watch
