#include "server/jobs/origin_table.h"

#include <algorithm>
#include <memory>

namespace graphdbg::jobs {

void OriginTable::Add(const Rank& rank, const OriginReport& report) {
  const graph::NodeIndex node = rank.ids.Find(report.node_id);
  if (node == graph::kNoNode) return;
  ++version_;
  const SavedOrigin origin{report.step, rank.hello.rank, node,
                           report.slot, report.order,    report.received};
  steps_[report.step][rank.hello.rank] = origin;
  JobJournal* const journal = recorder_.journal();
  if (journal != nullptr) journal->RecordOrigin(origin);
  if (steps_.size() <= kMaxSteps) return;
  if (journal != nullptr) journal->EraseOrigins(steps_.begin()->first);
  steps_.erase(steps_.begin());
}

void OriginTable::Restore(const std::vector<SavedOrigin>& origins) {
  for (const SavedOrigin& each : origins) {
    if (each.node >= graph_.node_count()) continue;
    steps_[each.step][each.rank] = each;
  }
}

OriginTable::Path OriginTable::PathOf(const model::Hit& hit) const {
  const model::Statistics& values = hit.statistics;
  if (values.nan_count + values.pos_inf_count + values.neg_inf_count == 0) {
    return {};
  }
  const auto step = steps_.find(hit.step);
  if (step == steps_.end()) return {};
  const auto here = step->second.find(hit.rank);
  if (here == step->second.end() || !here->second.received ||
      hit.order < here->second.order) {
    return {};
  }
  const auto sender =
      std::find_if(step->second.begin(), step->second.end(),
                   [](const auto& entry) { return !entry.second.received; });
  if (sender == step->second.end()) return {};
  return {sender->first, &sender->second, &here->second};
}

graph::NodeIndex OriginTable::SenderOf(const model::Hit& hit) const {
  const Path path = PathOf(hit);
  return path.sender == nullptr ? graph::kNoNode : path.sender->node;
}

void OriginTable::Complete(model::Hit& hit) const {
  const Path path = PathOf(hit);
  if (path.sender == nullptr) return;
  const graph::Node& node = graph_.node(path.sender->node);
  model::Sender& sent_by = hit.sent_by.emplace();
  sent_by.rank = path.rank;
  sent_by.node = node.name;
  sent_by.slot = path.sender->slot;
  sent_by.collective = graph_.node(path.receiver->node).name;
  if (const auto* const line = graph_.SourceOf(path.sender->node)) {
    sent_by.source = std::make_shared<const model::SourceLine>(*line);
  }
}

}  // namespace graphdbg::jobs
