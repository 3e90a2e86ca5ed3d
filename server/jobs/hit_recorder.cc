#include "server/jobs/hit_recorder.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace graphdbg::jobs {
bool HasStatistics(const model::Hit& hit) {
  return hit.error.empty() && hit.statistics.count != 0;
}

HitRecorder::HitRecorder(watch::WatchTable& watchpoints, watch::HitLog& hits,
                         StatisticsRecorder& statistics, JobRecorder& recorder,
                         JobEvents& events,
                         std::function<void(const model::Hit&)> on_hit)
    : watchpoints_(watchpoints),
      hits_(hits),
      statistics_(statistics),
      recorder_(recorder),
      events_(events),
      on_hit_(std::move(on_hit)) {}

void HitRecorder::OnReport(Rank& rank, HitReport report,
                           const std::function<void(absl::Status)>& done) {
  const uint64_t number = report.number;
  if (number != 0) {
    // The hit was sent again. The first report may not be durable yet.
    if (number <= rank.last_hit) {
      Confirm(rank, rank.last_hit);
      return recorder_.WhenDurable(done);
    }
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
    Confirm(rank, number);
    return done(absl::OkStatus());
  }
  watch::HitRecord record{node, std::move(report.hit)};
  record.hit.id = hits_.Reserve();
  record.hit.condition = condition;
  record.hit.rank = rank.hello.rank;
  if (JobJournal* journal = recorder_.journal()) {
    const bool kept = hits_.Keeps(record.hit.id);
    journal->RecordHit(record, number, kept);
    if (kept) watchpoints_.MarkMet(watchpoint, record.hit.revision);
  }
  recorder_.OnceDurable(
      [this, record = std::move(record)](const absl::Status&) mutable {
        Add(std::move(record));
      });
  Confirm(rank, number);
  recorder_.WhenDurable(done);
}

void HitRecorder::Confirm(const Rank& rank, uint64_t number) {
  if (number == 0) return;
  // A later process of this rank numbers its hits anew.
  recorder_.OnceDurable([link = rank.link, number](const absl::Status& kept) {
    if (kept.ok() && link) link->Send(HitsRecordedOrder{number});
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
  const model::Hit added = hits_.Add(std::move(record));
  events_.PublishHit(rank, added);
  on_hit_(added);
  if (was_full || !hits_.full()) return;
  events_.PublishLog(rank, "warning",
                     absl::StrCat("the job has ", hits_.total(),
                                  " hits, the maximum that is stored; further "
                                  "hits are only counted"));
}

}  // namespace graphdbg::jobs
