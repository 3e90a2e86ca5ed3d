#include "server/jobs/tensor_catalog.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/graph/graph_view.h"
#include "server/graph/neighbours.h"

namespace graphdbg::jobs {
namespace {

constexpr size_t kMaxNeighbours = 500;
constexpr size_t kMaxHitsOfTensor = 5;

}  // namespace

absl::StatusOr<graph::NodeIndex> FindTensor(const graph::GraphStore& graph,
                                            const std::string& node,
                                            uint32_t slot) {
  const graph::NodeIndex index = graph.FindNode(node);
  if (index == graph::kNoNode) {
    return WithField(graph::UnknownNode(node), "name");
  }
  const auto& outputs = graph.node(index).outputs;
  bool has_slot = outputs.empty();
  for (const model::Output& output : outputs) has_slot |= output.slot == slot;
  if (has_slot) return index;
  return WithField(Error(absl::StatusCode::kNotFound, "unknown_slot",
                         absl::StrCat("node \"", node, "\" has no output ",
                                      slot, "; it has ", outputs.size())),
                   "name");
}

TensorCatalog::TensorCatalog(const graph::GraphStore& graph,
                             const graph::Annotations& annotations,
                             const KnownTensors& known,
                             const watch::HitLog& hits)
    : graph_(graph), annotations_(annotations), known_(known), hits_(hits) {}

absl::StatusOr<std::vector<model::TensorSummary>> TensorCatalog::List(
    const std::string& node, uint32_t rank) const {
  RETURN_IF_ERROR(known_.CheckRank(rank));
  const graph::NodeIndex index = graph_.FindNode(node);
  if (index == graph::kNoNode) return graph::UnknownNode(node);
  const graph::GraphView view(graph_, annotations_);
  std::vector<model::TensorSummary> summaries;
  const auto add = [&](const char* role, uint32_t position,
                       graph::NodeIndex producer, uint32_t slot) {
    model::TensorSummary summary;
    summary.role = role;
    summary.index = position;
    summary.tensor = view.EndpointOf(producer, slot);
    if (const auto newest = known_.Newest(rank, producer, slot)) {
      summary.statistics = newest->statistics;
      summary.statistics_step = newest->step;
    }
    summaries.push_back(std::move(summary));
  };
  const graph::Node& at = graph_.node(index);
  for (uint32_t i = 0; i < at.inputs.size(); ++i) {
    const graph::Input& input = at.inputs[i];
    if (input.node == graph::kNoNode || input.control) continue;
    add("input", i, input.node, input.slot);
  }
  for (const model::Output& output : at.outputs) {
    add("output", output.slot, index, output.slot);
  }
  return summaries;
}

absl::StatusOr<model::Neighbours> TensorCatalog::FindNeighbours(
    const model::NeighbourQuery& query) const {
  ASSIGN_OR_RETURN(const graph::NodeIndex node,
                   FindTensor(graph_, query.node, query.slot));
  RETURN_IF_ERROR(known_.CheckRank(query.rank));
  const graph::Surroundings around = graph::FindNeighbours(
      graph_, node, query.slot, query.depth, kMaxNeighbours);
  const graph::GraphView view(graph_, annotations_);
  model::Neighbours answer;
  answer.tensor = view.EndpointOf(node, query.slot);
  answer.truncated = around.truncated;
  std::set<std::pair<graph::NodeIndex, uint32_t>> tensors = {
      {node, query.slot}};
  for (const auto& [index, distance] : around.nodes) {
    answer.nodes.push_back({view.Info({false, index}), distance});
    for (const model::Output& output : graph_.node(index).outputs) {
      tensors.insert({index, output.slot});
    }
  }
  for (const auto& [to, position] : around.edges) {
    const graph::Input& input = graph_.node(to).inputs[position];
    answer.edges.push_back(
        {graph_.node(input.node).name, input.slot, graph_.node(to).name,
         position,
         input.control ? model::EdgeKind::kControl : model::EdgeKind::kData});
    if (!input.control) tensors.insert({input.node, input.slot});
  }
  for (const auto& [index, slot] : tensors) {
    answer.tensors.push_back(Describe(index, slot, query.rank));
  }
  return answer;
}

model::NeighbourTensor TensorCatalog::Describe(graph::NodeIndex node,
                                               uint32_t slot,
                                               uint32_t rank) const {
  model::NeighbourTensor tensor;
  tensor.tensor = graph::GraphView(graph_, annotations_).EndpointOf(node, slot);
  if (const auto newest = known_.Newest(rank, node, slot)) {
    tensor.statistics = newest->statistics;
    tensor.statistics_step = newest->step;
  }
  watch::HitLog::TensorHits hits = hits_.OnTensor(node, slot, kMaxHitsOfTensor);
  tensor.hit_count = hits.count;
  tensor.hits = std::move(hits.newest);
  return tensor;
}

absl::StatusOr<model::TensorHistory> TensorCatalog::History(
    const std::string& node, uint32_t slot, uint32_t rank) const {
  ASSIGN_OR_RETURN(const graph::NodeIndex index,
                   FindTensor(graph_, node, slot));
  RETURN_IF_ERROR(known_.CheckRank(rank));
  model::TensorHistory history;
  history.tensor =
      graph::GraphView(graph_, annotations_).EndpointOf(index, slot);
  history.points = known_.History(rank, index, slot);
  return history;
}

}  // namespace graphdbg::jobs
