#include "server/jobs/job_restoration.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/jobs/hit_recorder.h"

namespace graphdbg::jobs {
namespace {

absl::Status RestoreGraph(SavedJob& saved, const RestoredParts& parts) {
  parts.graph.RestoreFrames(saved.frames);
  RETURN_IF_ERROR(parts.graph.RestorePatches(saved.patches));
  parts.graph.RestoreLastSteps(saved.last_steps);
  return absl::OkStatus();
}

absl::Status RestoreWatchpoints(SavedJob& saved, const RestoredParts& parts) {
  parts.watchpoints.MatchNewNodes();
  for (const SavedRevision& each : saved.watchpoints) {
    RETURN_IF_ERROR(parts.watchpoints.Restore(
        each.id, each.revision, each.spec ? &*each.spec : nullptr));
  }
  return absl::OkStatus();
}

absl::Status RestoreHits(SavedJob& saved, const RestoredParts& parts) {
  for (watch::HitRecord& record : saved.hits) {
    model::Hit& hit = record.hit;
    hit.condition = parts.watchpoints.ConditionAt(hit.watchpoint, hit.revision);
    const bool consistent = hit.condition != nullptr &&
                            hit.id == parts.hits.Reserve() &&
                            record.node < parts.graph.node_count();
    if (!consistent) {
      return absl::DataLossError(absl::StrCat(
          "hit ", hit.id, " does not match the recorded watchpoints or graph"));
    }
    if (HasStatistics(hit)) {
      parts.statistics.Add(hit.rank, record.node, hit.slot, hit.step,
                           hit.statistics, KnownStatistics::Source::kHit);
    }
    parts.hits.Add(std::move(record));
  }
  parts.hits.RestoreTotal(saved.hit_total);
  return absl::OkStatus();
}

}  // namespace

absl::Status RestoreJob(SavedJob& saved, const RestoredParts& parts) {
  parts.machine.Restore(std::move(saved.ranks));
  RETURN_IF_ERROR(RestoreGraph(saved, parts));
  RETURN_IF_ERROR(RestoreWatchpoints(saved, parts));
  RETURN_IF_ERROR(RestoreHits(saved, parts));
  for (const SavedStatistics& each : saved.statistics) {
    parts.statistics.Add(each.rank, each.node, each.slot, each.step,
                         each.statistics, KnownStatistics::Source::kAnswer);
  }
  return absl::OkStatus();
}

}  // namespace graphdbg::jobs
