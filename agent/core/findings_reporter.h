// Sends what checks found to the server and the user.
#ifndef AGENT_CORE_FINDINGS_REPORTER_H_
#define AGENT_CORE_FINDINGS_REPORTER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/mutex.h"
#include "agent/core/checker.h"
#include "agent/core/hit_limits.h"
#include "agent/core/non_finite_origin.h"
#include "agent/core/outbox.h"
#include "agent/core/statistics_recorder.h"

namespace graphdbg::agent {

// Any thread; nothing blocks. Takes a lock only if a watchpoint that stops the
// program at the end of the step has hit, or values are not finite.
class FindingsReporter {
 public:
  // All pointers must outlive this; `limits` may be null. `on_hit` is called
  // with each hit that counts, on the thread that reports it. With `attended`
  // false there never is a server.
  FindingsReporter(Outbox* outbox, StatisticsRecorder* recorder,
                   HitLimits* limits = nullptr,
                   std::function<void(const v1::Hit&)> on_hit = nullptr,
                   bool attended = true)
      : outbox_(outbox),
        recorder_(recorder),
        limits_(limits),
        on_hit_(std::move(on_hit)),
        attended_(attended) {}

  // Findings of an execution point, whose statistics are recorded as well.
  Findings NewFindings() const;
  // Whether they are recorded in this step. If not, notes that some were left
  // out.
  bool RecordsStatistics() const;

  // Queues the hits that count. Returns the watchpoints that stop the program
  // at once, and remembers those that stop it at the end of the step.
  std::vector<uint32_t> Report(Findings findings) GRAPHDBG_EXCLUDES(mu_);
  // Queues the statistics that were recorded in a step.
  void ReportStatistics(uint64_t step);
  // Shows the user a line, on stderr and on the server's page.
  void Notify(const std::string& line);

  // Returns the watchpoints that stop the program at the end of this step, and
  // forgets them.
  std::vector<uint32_t> TakeStepEndStops() GRAPHDBG_EXCLUDES(mu_);
  // Returns the kinds of non-finite values in the hits of this step, and
  // forgets them.
  NonFinite TakeNonFinite(uint64_t step) GRAPHDBG_EXCLUDES(mu_);

 private:
  void RecordNonFinite(const v1::Hit& hit) GRAPHDBG_EXCLUDES(mu_);

  Outbox* const outbox_;
  StatisticsRecorder* const recorder_;
  HitLimits* const limits_;
  const std::function<void(const v1::Hit&)> on_hit_;
  const bool attended_;

  Mutex mu_;
  // Without duplicates.
  std::vector<uint32_t> step_end_stops_ GRAPHDBG_GUARDED_BY(mu_);
  // The values of hits of non_finite_step_.
  NonFinite non_finite_ GRAPHDBG_GUARDED_BY(mu_);
  uint64_t non_finite_step_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_FINDINGS_REPORTER_H_
