#include "server/diagnosis/incidents.h"

#include <algorithm>

#include "server/diagnosis/diagnose.h"
#include "server/diagnosis/facts.h"

namespace graphdbg::diagnosis {
namespace {

constexpr uint32_t kNoGroup = ~uint32_t{0};

bool Spreads(const model::Hit& hit) {
  const model::Statistics& values = hit.statistics;
  return values.nan_count + values.pos_inf_count + values.neg_inf_count > 0;
}

// Whether gradients pass the condition on: it holds from where it began to the
// first layer of the model.
bool FollowsGradients(const model::Hit& hit) {
  return hit.condition && (hit.condition->id == "gradient_vanishing" ||
                           hit.condition->id == "gradient_exploding");
}

// So many ops may lie between two hits of one chain, such as transpositions
// that are not watched.
constexpr int kMaxBetween = 3;

void AddStep(uint64_t step, std::vector<model::StepRange>& steps) {
  if (steps.empty() || step > steps.back().last + 1) {
    steps.push_back({step, step});
  } else {
    steps.back().last = std::max(steps.back().last, step);
  }
}

}  // namespace

class Incidents::Builder {
 public:
  Builder(const graph::GraphStore& graph, const SenderOf& sender_of,
          Incidents& into)
      : graph_(graph), sender_of_(sender_of), into_(into) {}

  void Add(const watch::HitRecord& record) {
    const model::Hit& hit = record.hit;
    if (hit.step != step_) BeginStep(hit.step);
    const uint32_t group = GroupFor(record);
    if (Spreads(hit)) {
      here_.try_emplace({hit.rank, record.node}, group);
      if (Persists(record.node))
        kept_[{hit.rank, record.node}] = {group, step_};
      if (IsOptimizer(record.node)) optimizer_hit_.insert(hit.rank);
      newest_of_rank_[hit.rank] = group;
      newest_ = group;
    }
    Count(record, into_.groups_[group]);
    into_.group_of_[hit.id - 1] = group;
  }

 private:
  // A watchpoint's hits in the current step at gradients.
  struct ChainKey {
    uint32_t rank;
    uint32_t watchpoint;
    graph::NodeIndex node;

    bool operator==(const ChainKey&) const = default;
    template <typename H>
    friend H AbslHashValue(H state, const ChainKey& key) {
      return H::combine(std::move(state), key.rank, key.watchpoint, key.node);
    }
  };

  void BeginStep(uint64_t step) {
    step_ = step;
    here_.clear();
    chains_.clear();
    newest_of_rank_.clear();
    optimizer_hit_.clear();
  }

  uint32_t GroupFor(const watch::HitRecord& record) {
    if (Spreads(record.hit)) return SpreadingGroup(record);
    if (!FollowsGradients(record.hit)) {
      return GroupAt(record, /*spreads=*/false);
    }
    ChainKey key{record.hit.rank, record.hit.watchpoint, record.node};
    uint32_t group = ChainAbove(key, kMaxBetween);
    if (group == kNoGroup) group = GroupAt(record, /*spreads=*/false);
    chains_.try_emplace(key, group);
    return group;
  }

  // The group of a gradient that a gradient is computed of, in this step.
  uint32_t ChainAbove(ChainKey key, int between) const {
    const graph::NodeIndex node = key.node;
    for (const graph::Input& input : graph_.node(node).inputs) {
      if (input.control || input.node == graph::kNoNode) continue;
      key.node = input.node;
      const auto found = chains_.find(key);
      if (found != chains_.end()) return found->second;
    }
    if (between == 0) return kNoGroup;
    for (const graph::Input& input : graph_.node(node).inputs) {
      if (input.control || input.node == graph::kNoNode) continue;
      if (graph_.node(input.node).category != model::Category::kGradient) {
        continue;
      }
      key.node = input.node;
      const uint32_t found = ChainAbove(key, between - 1);
      if (found != kNoGroup) return found;
    }
    return kNoGroup;
  }

  uint32_t SpreadingGroup(const watch::HitRecord& record) {
    const model::Hit& hit = record.hit;
    if (const uint32_t found = Upstream(record); found != kNoGroup) {
      return found;
    }
    if (const graph::NodeIndex sender = sender_of_(hit);
        sender != graph::kNoNode) {
      const auto sent = by_node_.find({sender, true});
      if (sent != by_node_.end()) return sent->second;
    }
    if (hit.origin == model::Origin::kOrigin) {
      return GroupAt(record, /*spreads=*/true);
    }
    if (Persists(record.node)) {
      return optimizer_hit_.contains(hit.rank)
                 ? GroupAt(record, /*spreads=*/true)
                 : Newest(record);
    }
    return Newest(record);
  }

  // The newest group on the rank in this step; or on another one, from which
  // collectives without a hit may have brought it; or the one that weights,
  // which are not watched, may have carried here.
  uint32_t Newest(const watch::HitRecord& record) {
    const auto own = newest_of_rank_.find(record.hit.rank);
    if (own != newest_of_rank_.end()) return own->second;
    if (record.hit.origin == model::Origin::kPropagated &&
        !newest_of_rank_.empty()) {
      return newest_;
    }
    const bool carried =
        kept_.empty() && ReadsWeight(record.node) && newest_ != kNoGroup;
    return carried ? newest_ : GroupAt(record, /*spreads=*/true);
  }

  bool ReadsWeight(graph::NodeIndex node) const {
    const auto& inputs = graph_.node(node).inputs;
    return std::any_of(
        inputs.begin(), inputs.end(), [this](const graph::Input& input) {
          return input.node != graph::kNoNode && Persists(input.node);
        });
  }

  bool IsOptimizer(graph::NodeIndex node) const {
    return graph_.node(node).category == model::Category::kOptimizer;
  }

  // The group of the node itself, of a node that it reads or, for a backward
  // op, of its forward op, whose derivative is not finite either.
  uint32_t Upstream(const watch::HitRecord& record) const {
    const uint32_t rank = record.hit.rank;
    const uint32_t own = GroupOf(rank, record.node);
    if (own != kNoGroup) return own;
    for (const graph::Input& input : graph_.node(record.node).inputs) {
      if (input.control || input.node == graph::kNoNode) continue;
      const uint32_t found = GroupOf(rank, input.node);
      if (found != kNoGroup) return found;
    }
    const graph::NodeIndex forward = graph_.node(record.node).forward;
    if (forward != graph::kNoNode) return GroupOf(rank, forward);
    return Persists(record.node) ? GroupOfUpdate(record) : kNoGroup;
  }

  // The group of the ops that have updated a weight in this step.
  uint32_t GroupOfUpdate(const watch::HitRecord& record) const {
    for (const graph::Consumer& each : graph_.node(record.node).consumers) {
      if (!IsOptimizer(each.node)) continue;
      const auto found = here_.find({record.hit.rank, each.node});
      if (found != here_.end()) return found->second;
    }
    return kNoGroup;
  }

  // The group of a node in this step or, for a tensor that steps share, in the
  // previous one.
  uint32_t GroupOf(uint32_t rank, graph::NodeIndex node) const {
    const auto found = here_.find({rank, node});
    if (found != here_.end()) return found->second;
    const auto kept = kept_.find({rank, node});
    return kept != kept_.end() && kept->second.second + 1 >= step_
               ? kept->second.first
               : kNoGroup;
  }

  bool Persists(graph::NodeIndex node) const {
    const model::NodeKind kind = graph_.node(node).kind;
    return kind == model::NodeKind::kParameter ||
           kind == model::NodeKind::kBuffer;
  }

  // The group that begins at the hit's node.
  uint32_t GroupAt(const watch::HitRecord& record, bool spreads) {
    const auto next = static_cast<uint32_t>(into_.groups_.size());
    const auto [it, added] = by_node_.try_emplace({record.node, spreads}, next);
    if (added) {
      Group& group = into_.groups_.emplace_back();
      group.origin = record.hit.id;
      group.node = record.node;
      group.first_rank = record.hit.rank;
    }
    return it->second;
  }

  static void Count(const watch::HitRecord& record, Group& group) {
    const model::Hit& hit = record.hit;
    ++group.hit_count;
    group.ranks.insert(hit.rank);
    AddStep(hit.step, group.steps);
    if (record.node == group.node) {
      if (hit.condition) group.conditions.insert(hit.condition->id);
    } else if (group.reached.insert({record.node, hit.slot}).second &&
               group.first_reached == 0) {
      group.first_reached = hit.id;
    }
  }

  const graph::GraphStore& graph_;
  const SenderOf& sender_of_;
  Incidents& into_;
  // By the node where it begins, and whether it spreads.
  absl::flat_hash_map<std::pair<graph::NodeIndex, bool>, uint32_t> by_node_;
  uint32_t newest_ = kNoGroup;
  // Of the current step: by rank and node, and by rank.
  uint64_t step_ = 0;
  absl::flat_hash_map<std::pair<uint32_t, graph::NodeIndex>, uint32_t> here_;
  // Weights and buffers, with the last step in which they were in it.
  absl::flat_hash_map<std::pair<uint32_t, graph::NodeIndex>,
                      std::pair<uint32_t, uint64_t>>
      kept_;
  absl::flat_hash_map<uint32_t, uint32_t> newest_of_rank_;
  absl::flat_hash_map<ChainKey, uint32_t> chains_;
  // Ranks with a hit at an op of an optimizer.
  absl::flat_hash_set<uint32_t> optimizer_hit_;
};

Incidents::Incidents(const graph::GraphStore& graph, const watch::HitLog& hits,
                     const SenderOf& sender_of) {
  group_of_.assign(hits.kept(), kNoGroup);
  Builder builder(graph, sender_of, *this);
  hits.VisitInOrder([&builder](const watch::HitRecord& record) {
    if (!record.hit.absorbed) builder.Add(record);
  });
}

uint64_t Incidents::IncidentOf(uint64_t hit) const {
  if (hit == 0 || hit > group_of_.size()) return 0;
  const uint32_t group = group_of_[hit - 1];
  return group == kNoGroup ? 0 : groups_[group].origin;
}

model::Incident Incidents::Describe(const Group& group,
                                    const graph::GraphStore& graph,
                                    const watch::HitLog& hits,
                                    const Complete& complete) const {
  model::Incident incident;
  incident.id = group.origin;
  incident.origin = *hits.Get(group.origin);
  complete(incident.origin);
  incident.diagnosis = Diagnose(FactsOf(graph, incident.origin));
  incident.conditions.assign(group.conditions.begin(), group.conditions.end());
  incident.first_rank = group.first_rank;
  incident.ranks.assign(group.ranks.begin(), group.ranks.end());
  incident.hit_count = group.hit_count;
  incident.reached_count = group.reached.size();
  if (group.first_reached != 0) {
    incident.first_reached = *hits.Get(group.first_reached);
  }
  incident.steps = group.steps;
  return incident;
}

model::IncidentPage Incidents::Page(const graph::GraphStore& graph,
                                    const watch::HitLog& hits,
                                    const Complete& complete,
                                    size_t limit) const {
  model::IncidentPage page;
  page.total = groups_.size();
  for (const Group& group : groups_) {
    if (page.incidents.size() == limit) break;
    page.incidents.push_back(Describe(group, graph, hits, complete));
  }
  return page;
}

}  // namespace graphdbg::diagnosis
