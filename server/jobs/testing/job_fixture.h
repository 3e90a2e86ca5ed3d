// The data and the basic parts of a job, with fakes around them.
#ifndef SERVER_JOBS_TESTING_JOB_FIXTURE_H_
#define SERVER_JOBS_TESTING_JOB_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/graph/annotations.h"
#include "server/graph/graph_store.h"
#include "server/jobs/event_bus.h"
#include "server/jobs/job_events.h"
#include "server/jobs/job_recorder.h"
#include "server/jobs/job_state_machine.h"
#include "server/jobs/known_statistics.h"
#include "server/jobs/testing/fakes.h"
#include "server/jobs/unchecked_watchpoints.h"
#include "server/watch/hit_log.h"
#include "server/watch/watch_table.h"

namespace graphdbg::jobs {

// Events and state changes are collected; the journal is a FakeJobJournal.
// Tests add the parts that they are about.
class JobFixture : public testing::Test, private graph::Annotations {
 protected:
  JobFixture();

  // Connects a process as `rank` through a new link.
  Rank& Connect(uint32_t rank, uint32_t world_size = 1);
  std::shared_ptr<FakeAgentLink> LinkOf(uint32_t rank) const;
  // Declares nodes with ids from 1 in the order of all calls, with one output
  // each.
  void AddNodes(Rank& rank, const std::vector<std::string>& names);

  // Brings a rank to a state as its agent's reports do.
  void Run(Rank& rank, uint64_t step);
  void PauseAt(Rank& rank, uint64_t step, model::PauseReason reason,
               uint32_t node_id = 0);

  // Makes all records durable and runs what waits for that. With an error, runs
  // only what does not wait for the end of the failure.
  void Settle(const absl::Status& status = absl::OkStatus());

  // The events of one type.
  std::vector<model::Event> EventsOf(model::Event::Type type) const;

  const graph::Annotations& annotations() const { return *this; }

  FakeTaskRunner tasks_;
  JournalRecords records_;
  std::vector<model::Event> events_seen_;
  // The listener's calls, for example "0 connecting -> running".
  std::vector<std::string> changes_;

  JobStateMachine machine_;
  graph::GraphStore graph_;
  watch::WatchTable watch_table_;
  watch::HitLog hits_;
  KnownStatistics known_;
  UncheckedWatchpoints unchecked_;
  JobEvents events_;
  JobRecorder recorder_;

 private:
  explicit JobFixture(std::shared_ptr<EventBus> bus);

  uint64_t HitsOf(graph::Child) const override { return 0; }
  model::Watched WatchedOf(graph::Child) const override { return {}; }
  bool Covers(uint32_t, graph::NodeIndex) const override { return false; }

  std::shared_ptr<EventBus> bus_;
  std::shared_ptr<void> subscription_;
  uint32_t last_node_id_ = 0;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_TESTING_JOB_FIXTURE_H_
