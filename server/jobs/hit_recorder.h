// Turns the hits that agents report into hits of the job.
#ifndef SERVER_JOBS_HIT_RECORDER_H_
#define SERVER_JOBS_HIT_RECORDER_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/job_events.h"
#include "server/jobs/job_recorder.h"
#include "server/jobs/rank.h"
#include "server/jobs/statistics_recorder.h"
#include "server/watch/hit_log.h"
#include "server/watch/watch_table.h"

namespace graphdbg::jobs {

// On the job's strand only. A hit becomes visible to clients once it is
// durable, so that no client sees a hit that a restarted server would not know.
class HitRecorder {
 public:
  // `on_hit` is called with each hit when it becomes visible.
  HitRecorder(watch::WatchTable& watchpoints, watch::HitLog& hits,
              StatisticsRecorder& statistics, JobRecorder& recorder,
              JobEvents& events, std::function<void(const model::Hit&)> on_hit);

  // A rank reports a hit. Resent hits are ignored; hits of an unknown node or
  // watchpoint are dropped with a warning. `done` is called as by
  // AgentPort::Deliver. Once the hit is durable it becomes visible, and its
  // number is confirmed to the agent.
  void OnReport(Rank& rank, HitReport report,
                const std::function<void(absl::Status)>& done);

  // The number of hits that agents could not send.
  uint64_t dropped() const { return dropped_; }
  void AddDropped(uint64_t count) { dropped_ += count; }

 private:
  // Confirms that everything up to the number is durable, once it is.
  void Confirm(const Rank& rank, uint64_t number);
  // Makes a durable hit visible.
  void Add(watch::HitRecord record);

  watch::WatchTable& watchpoints_;
  watch::HitLog& hits_;
  StatisticsRecorder& statistics_;
  JobRecorder& recorder_;
  JobEvents& events_;
  const std::function<void(const model::Hit&)> on_hit_;
  uint64_t dropped_ = 0;
};

// Whether the hit's statistics cover the whole tensor. Hits of some protocols
// contain only the compared values, and hits that could not be evaluated
// contain nothing.
bool HasStatistics(const model::Hit& hit);

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_HIT_RECORDER_H_
