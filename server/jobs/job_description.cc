#include "server/jobs/job_description.h"

#include <algorithm>
#include <cstdint>
#include <utility>

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

model::Rank DescribeRank(const Rank& rank, bool brief) {
  model::Rank described;
  const AgentHello& hello = rank.hello;
  described.rank = hello.rank;
  described.state = rank.run.state;
  described.step = rank.run.step;
  described.node = rank.run.node;
  described.brief = brief;
  if (brief) return described;
  described.host = hello.host;
  described.pid = hello.pid;
  described.peer = hello.peer;
  described.device = hello.device;
  described.device_id = hello.device_id;
  return described;
}

void ListRanks(const JobStateMachine& machine, const ListedRanks& listed,
               model::Job& job) {
  using Which = ListedRanks::Which;
  const bool few = HasFewRanks(machine);
  if (!few && listed.which == Which::kChanged) {
    for (uint32_t number : listed.changed) {
      if (const Rank* rank = machine.Find(number)) {
        job.ranks.push_back(DescribeRank(*rank, listed.brief));
      }
    }
  } else {
    const size_t most = listed.which == Which::kFirst ? kFewRanks : SIZE_MAX;
    for (const auto& [number, rank] : machine.ranks()) {
      if (job.ranks.size() == most) break;
      job.ranks.push_back(DescribeRank(rank, /*brief=*/false));
    }
  }
  if (few) return;
  job.lists_all_ranks = listed.which == Which::kAll;
  for (const auto state :
       {model::JobState::kConnecting, model::JobState::kPaused,
        model::JobState::kRunning, model::JobState::kPausing,
        model::JobState::kFinished, model::JobState::kTerminated,
        model::JobState::kLost}) {
    if (const size_t count = machine.Count(state); count > 0) {
      job.rank_states[state] = static_cast<uint32_t>(count);
    }
  }
}

}  // namespace

bool HasFewRanks(const JobStateMachine& machine) {
  return machine.ranks().size() <= kFewRanks;
}

void DescribeRanks(const JobStateMachine& machine, const ListedRanks& listed,
                   model::Job& job) {
  const RunState& run = machine.job();
  job.allowed = AllowedByRanks(machine);
  job.state = run.state;
  job.pause_reason = run.reason;
  job.step = run.step;
  job.node = run.node;
  job.stopped_by = run.stopped_by;
  ListRanks(machine, listed, job);
  bool first = true;
  for (const auto& [number, rank] : machine.ranks()) {
    const AgentHello& hello = rank.hello;
    if (std::exchange(first, false)) {
      if (!hello.job_name.empty()) job.name = hello.job_name;
      job.framework = hello.framework;
      job.framework_version = hello.framework_version;
    }
    if (hello.framework == kUnverifiedFramework) job.verified = false;
    job.unsupported.insert(hello.unsupported.begin(), hello.unsupported.end());
    job.world_size = std::max(job.world_size, hello.world_size);
    // The others wait for it.
    job.overhead = std::max(job.overhead, rank.overhead);
    if (rank.exit_report) DescribeOutcome(*rank.exit_report, job);
    DescribeException(rank.run.exception, job);
  }
}

}  // namespace graphdbg::jobs
