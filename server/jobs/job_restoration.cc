#include "server/jobs/job_restoration.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/jobs/hit_recorder.h"

namespace graphdbg::jobs {
namespace {

// Keeps the first of several errors.
void Note(absl::Status& first, const absl::Status& next) {
  if (first.ok()) first = next;
}

absl::Status RestoreGraph(SavedJob& saved, const RestoredParts& parts) {
  parts.graph.RestoreFrames(saved.frames);
  const absl::Status restored = parts.graph.RestorePatches(saved.patches);
  parts.graph.RestoreLastSteps(saved.last_steps);
  return restored;
}

absl::Status CheckIds(const std::map<uint32_t, Rank>& ranks,
                      const graph::GraphStore& graph) {
  for (const auto& [number, rank] : ranks) {
    std::optional<graph::NodeIndex> missing;
    rank.ids.nodes.ForEach([&](uint32_t, graph::NodeIndex node) {
      if (node >= graph.node_count()) missing = node;
    });
    if (!missing) continue;
    return absl::DataLossError(absl::StrCat("rank ", number, " refers to node ",
                                            *missing, ", which is missing"));
  }
  return absl::OkStatus();
}

absl::Status RestoreWatchpoints(SavedJob& saved, const RestoredParts& parts) {
  absl::Status problem;
  parts.watchpoints.MatchNewNodes();
  const auto& revisions = saved.watchpoints;
  for (size_t i = 0; i < revisions.size(); ++i) {
    const SavedRevision& each = revisions[i];
    const bool newest =
        i + 1 == revisions.size() || revisions[i + 1].id != each.id;
    if (newest) {
      Note(problem,
           parts.watchpoints.Restore(each.id, each.revision,
                                     each.spec ? &*each.spec : nullptr));
    } else if (each.spec) {
      Note(problem, parts.watchpoints.RestoreCondition(each.id, each.revision,
                                                       each.spec->condition));
    }
  }
  return problem;
}

absl::Status RestoreHits(SavedJob& saved, const RestoredParts& parts) {
  absl::Status problem;
  uint64_t expected = 0;
  for (watch::HitRecord& record : saved.hits) {
    model::Hit& hit = record.hit;
    hit.condition = parts.watchpoints.ConditionAt(hit.watchpoint, hit.revision);
    const bool readable =
        hit.condition != nullptr && record.node < parts.graph.node_count();
    if (!readable || hit.id != ++expected) {
      Note(problem, absl::DataLossError(absl::StrCat(
                        "hit ", hit.id,
                        " does not match the recorded watchpoints or graph")));
    }
    if (!readable) continue;
    parts.watchpoints.MarkMet(hit.watchpoint, hit.revision);
    hit.id = parts.hits.Reserve();
    if (HasStatistics(hit)) {
      parts.statistics.Add(hit.rank, record.node, hit.slot, hit.step,
                           hit.statistics, KnownStatistics::Source::kHit);
    }
    parts.hits.Add(std::move(record));
  }
  parts.hits.RestoreTotal(saved.hit_total);
  return problem;
}

}  // namespace

absl::Status RestoreJob(SavedJob& saved, const RestoredParts& parts) {
  parts.machine.Restore(std::move(saved.ranks));
  absl::Status problem;
  Note(problem, RestoreGraph(saved, parts));
  Note(problem, CheckIds(parts.machine.ranks(), parts.graph));
  Note(problem, RestoreWatchpoints(saved, parts));
  Note(problem, RestoreHits(saved, parts));
  for (const SavedStatistics& each : saved.statistics) {
    if (each.node >= parts.graph.node_count()) continue;
    parts.statistics.Add(each.rank, each.node, each.slot, each.step,
                         each.statistics, KnownStatistics::Source::kAnswer);
  }
  return problem;
}

}  // namespace graphdbg::jobs
