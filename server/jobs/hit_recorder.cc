#include "server/jobs/hit_recorder.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace graphdbg::jobs {
namespace {

watch::HitRecord RecordOf(const Rank& rank, HitReport report) {
  watch::HitRecord record;
  record.watchpoint = report.watchpoint;
  record.revision = report.revision;
  record.rank = rank.hello.rank;
  record.step = report.step;
  record.slot = report.slot;
  record.order = report.order;
  record.actual = std::move(report.actual);
  record.statistics = report.statistics;
  record.type = std::move(report.type);
  record.origin = report.origin;
  record.source = std::move(report.source);
  record.error = std::move(report.error);
  record.time_unix_nano = report.time_unix_nano;
  return record;
}

}  // namespace

bool HasStatistics(const watch::HitRecord& hit) {
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
  const watch::ConditionPtr condition =
      watchpoints_.ConditionAt(report.watchpoint, report.revision);
  if (node == graph::kNoNode || condition == nullptr) {
    events_.PublishLog(
        rank.hello.rank, "warning",
        absl::StrCat("dropped a hit of watchpoint ", report.watchpoint,
                     " at node ", report.node_id, ": unknown ",
                     condition ? "node" : "watchpoint"));
    return succeed();
  }
  watch::HitRecord record = RecordOf(rank, std::move(report));
  record.id = hits_.Reserve();
  record.node = node;
  record.condition = condition;
  if (JobJournal* journal = recorder_.journal()) {
    journal->RecordHit(record, number, hits_.Keeps(record.id));
  }
  recorder_.WhenDurable([this, record = std::move(record), succeed]() mutable {
    Add(std::move(record));
    succeed();
  });
}

void HitRecorder::Add(watch::HitRecord hit) {
  const uint32_t rank = hit.rank;
  if (HasStatistics(hit)) {
    statistics_.Record(rank, hit.node, hit.slot, hit.step, hit.statistics,
                       KnownStatistics::Source::kHit);
  }
  const bool was_full = hits_.full();
  events_.PublishHit(rank, hits_.Add(std::move(hit)));
  if (was_full || !hits_.full()) return;
  events_.PublishLog(rank, "warning",
                     absl::StrCat("the job has ", hits_.total(),
                                  " hits, the maximum that is stored; further "
                                  "hits are only counted"));
}

}  // namespace graphdbg::jobs
