// Publishes the events of one job.
#ifndef SERVER_JOBS_JOB_EVENTS_H_
#define SERVER_JOBS_JOB_EVENTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/jobs/command_log.h"
#include "server/jobs/event_bus.h"
#include "server/jobs/job_description.h"
#include "server/model/graph.h"
#include "server/model/job.h"
#include "server/model/rules.h"
#include "server/model/watch.h"

namespace graphdbg::jobs {

// Numbers the events of a job consecutively and publishes them on the server's
// bus. On the job's strand only: subscribers run before a method returns.
class JobEvents {
 public:
  // Returns the job as it is now. Called for events that contain the job, with
  // the ranks that the event is about.
  using DescribeFunction = std::function<model::Job(const ListedRanks& listed)>;

  // The first event gets the number after `last_number`.
  JobEvents(std::string job, uint64_t last_number,
            std::shared_ptr<EventBus> bus, DescribeFunction describe);

  // The job was created, restored or changed by a new connection of `rank`.
  void PublishJob(uint32_t rank);
  // The job was removed. Its last event.
  void PublishRemoval();
  void PublishState(uint32_t rank);
  // The states of these ranks, at least one, have changed. Ascending.
  void PublishStates(std::vector<uint32_t> ranks);
  // A command was accepted under this id.
  void PublishCommand(uint64_t id, const model::ControlRequest& request);
  void PublishCommandResult(uint32_t rank, const CommandResult& result);
  void PublishGraph(uint32_t rank, uint64_t node_count);
  void PublishHit(uint32_t rank, model::Hit hit);
  void PublishFinding(model::Finding finding);
  // `watchpoint` is absent if it was removed.
  void PublishWatchpoint(uint32_t id,
                         std::optional<model::Watchpoint> watchpoint);
  void PublishLog(uint32_t rank, std::string level, std::string message);

 private:
  void Publish(model::Event event);

  const std::string job_;
  const std::shared_ptr<EventBus> bus_;
  const DescribeFunction describe_;
  uint64_t last_number_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_JOB_EVENTS_H_
