#include "server/jobs/hit_recorder.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace graphdbg::jobs {
bool HasStatistics(const model::Hit& hit) {
  return hit.error.empty() && hit.statistics.count != 0;
}

HitRecorder::HitRecorder(const watch::WatchTable& watchpoints,
                         watch::HitLog& hits, StatisticsRecorder& statistics,
                         JobRecorder& recorder, JobEvents& events)
    : watchpoints_(watchpoints),
      hits_(hits),
      statistics_(statistics),
      recorder_(recorder),
      events_(events) {}

void HitRecorder::OnReport(Rank& rank, HitReport report,
                           const std::function<void(absl::Status)>& done) {
  const auto succeed = [done] { done(absl::OkStatus()); };
  const uint64_t number = report.number;
  if (number != 0) {
    // The hit was sent again. The first report may not be durable yet.
    if (number <= rank.last_hit) return recorder_.WhenDurable(succeed);
    rank.last_hit = number;
  }
  const graph::NodeIndex node = rank.ids.Find(report.node_id);
  const uint32_t watchpoint = report.hit.watchpoint;
  const watch::ConditionPtr condition =
      watchpoints_.ConditionAt(watchpoint, report.hit.revision);
  if (node == graph::kNoNode || condition == nullptr) {
    events_.PublishLog(rank.hello.rank, "warning",
                       absl::StrCat("dropped a hit of watchpoint ", watchpoint,
                                    " at node ", report.node_id, ": unknown ",
                                    condition ? "node" : "watchpoint"));
    return succeed();
  }
  watch::HitRecord record{node, std::move(report.hit)};
  record.hit.id = hits_.Reserve();
  record.hit.condition = condition;
  record.hit.rank = rank.hello.rank;
  if (JobJournal* journal = recorder_.journal()) {
    journal->RecordHit(record, number, hits_.Keeps(record.hit.id));
  }
  recorder_.WhenDurable([this, record = std::move(record), succeed]() mutable {
    Add(std::move(record));
    succeed();
  });
}

void HitRecorder::Add(watch::HitRecord record) {
  const model::Hit& hit = record.hit;
  const uint32_t rank = hit.rank;
  if (HasStatistics(hit)) {
    statistics_.Record(rank, record.node, hit.slot, hit.step, hit.statistics,
                       KnownStatistics::Source::kHit);
  }
  const bool was_full = hits_.full();
  events_.PublishHit(rank, hits_.Add(std::move(record)));
  if (was_full || !hits_.full()) return;
  events_.PublishLog(rank, "warning",
                     absl::StrCat("the job has ", hits_.total(),
                                  " hits, the maximum that is stored; further "
                                  "hits are only counted"));
}

}  // namespace graphdbg::jobs
