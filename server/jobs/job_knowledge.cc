// What is known of tensors without asking agents.
#include <set>
#include <utility>

#include "server/graph/graph_view.h"
#include "server/graph/neighbours.h"
#include "server/jobs/job_impl.h"
#include "server/jobs/strand_call.h"

namespace graphdbg::jobs {
namespace {

constexpr size_t kMaxNeighbours = 500;
constexpr size_t kHitsOfATensor = 5;

}  // namespace

void JobImpl::NoteStatistics(uint32_t rank, graph::NodeIndex node,
                             uint32_t slot, uint64_t step,
                             const model::Statistics& statistics,
                             KnownStatistics::Source source) {
  const auto noted = known_.Note(rank, node, slot, step, statistics, source);
  if (!noting()) return;
  if (noted.erase_step) {
    journal_->DropStatistics(rank, node, slot, *noted.erase_step);
  }
  if (noted.write) {
    journal_->NoteStatistics(rank, node, slot, step, statistics);
  }
}

Task<model::Neighbours> JobImpl::Around(model::NeighbourQuery query) {
  return CallOn<absl::StatusOr<model::Neighbours>>(
      strand_, [self = shared_from_this(), query = std::move(query)] {
        return self->DoAround(query);
      });
}

Task<model::TensorHistory> JobImpl::History(std::string node, uint32_t slot,
                                            uint32_t rank) {
  using Answer = absl::StatusOr<model::TensorHistory>;
  return StartOn<Answer>(
      strand_, [self = shared_from_this(), node = std::move(node), slot,
                rank](std::function<void(Answer)> complete) {
        // Nobody sees what a restarted server would not know of.
        self->WhenKept([answer = self->DoHistory(node, slot, rank),
                        complete = std::move(complete)] { complete(answer); });
      });
}

absl::StatusOr<model::Neighbours> JobImpl::DoAround(
    const model::NeighbourQuery& query) const {
  auto node = NodeOfTensor(query.node, query.slot);
  if (!node.ok()) return node.status();
  if (ranks_.count(query.rank) == 0) return UnknownRank(query.rank);
  const graph::Surroundings around = graph::FindNeighbours(
      graph_, *node, query.slot, query.depth, kMaxNeighbours);
  const graph::GraphView view(graph_, *this);
  model::Neighbours answer;
  answer.tensor = view.EndpointOf(*node, query.slot);
  answer.truncated = around.truncated;
  std::set<std::pair<graph::NodeIndex, uint32_t>> tensors = {
      {*node, query.slot}};
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
    answer.tensors.push_back(TensorAt(view, index, slot, query.rank));
  }
  return answer;
}

model::NeighbourTensor JobImpl::TensorAt(const graph::GraphView& view,
                                         graph::NodeIndex node, uint32_t slot,
                                         uint32_t rank) const {
  model::NeighbourTensor tensor;
  tensor.tensor = view.EndpointOf(node, slot);
  if (const model::StatisticsPoint* known = known_.Find(rank, node, slot)) {
    tensor.statistics = known->statistics;
    tensor.statistics_step = known->step;
  }
  watch::HitLog::TensorHits hits = hits_.OnTensor(node, slot, kHitsOfATensor);
  tensor.hit_count = hits.count;
  tensor.hits = std::move(hits.newest);
  return tensor;
}

absl::StatusOr<model::TensorHistory> JobImpl::DoHistory(const std::string& node,
                                                        uint32_t slot,
                                                        uint32_t rank) const {
  auto index = NodeOfTensor(node, slot);
  if (!index.ok()) return index.status();
  if (ranks_.count(rank) == 0) return UnknownRank(rank);
  model::TensorHistory history;
  history.tensor = graph::GraphView(graph_, *this).EndpointOf(*index, slot);
  history.points = known_.History(rank, *index, slot);
  return history;
}

}  // namespace graphdbg::jobs
