#include "server/jobs/job_description.h"

#include <algorithm>

#include "server/jobs/permissions.h"

namespace graphdbg::jobs {
namespace {

// The first exception is the cause: ranks that wait for one that failed fail,
// too.
void DescribeException(const std::optional<model::Exception>& exception,
                       model::Job& job) {
  if (!exception) return;
  if (job.exception && job.exception->order <= exception->order) return;
  job.exception = exception;
}

// A rank that failed is more informative than one that did not.
void DescribeOutcome(const ExitReport& report, model::Job& job) {
  if (job.exit_code.value_or(0) == 0) job.exit_code = report.exit_code;
  DescribeException(report.exception, job);
  // Ranks ascend: the first value stays.
  job.metrics.insert(report.metrics.begin(), report.metrics.end());
}

}  // namespace

void DescribeRanks(const JobStateMachine& machine, model::Job& job) {
  const RunState& run = machine.job();
  job.allowed = AllowedByRanks(machine);
  job.state = run.state;
  job.pause_reason = run.reason;
  job.step = run.step;
  job.node = run.node;
  job.stopped_by = run.stopped_by;
  for (const auto& [number, rank] : machine.ranks()) {
    const AgentHello& hello = rank.hello;
    if (job.ranks.empty()) {
      if (!hello.job_name.empty()) job.name = hello.job_name;
      job.framework = hello.framework;
      job.framework_version = hello.framework_version;
    }
    if (hello.framework == kUnverifiedFramework) job.verified = false;
    job.unsupported.insert(hello.unsupported.begin(), hello.unsupported.end());
    job.world_size = std::max(job.world_size, hello.world_size);
    job.ranks.push_back({number, hello.host, hello.pid, hello.peer,
                         hello.device, hello.device_id, rank.run.state,
                         rank.run.step, rank.run.node});
    if (rank.exit_report) DescribeOutcome(*rank.exit_report, job);
    DescribeException(rank.run.exception, job);
  }
}

}  // namespace graphdbg::jobs
