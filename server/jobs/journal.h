// Durable storage of jobs, implemented by server/store.
//
// Records are written in the order of the calls. After a crash, the journal
// therefore contains every record up to some point and none after it. While the
// journal cannot write, records wait in memory and are written later.
#ifndef SERVER_JOBS_JOURNAL_H_
#define SERVER_JOBS_JOURNAL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/graph/graph_store.h"
#include "server/graph/node_record.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/run_state.h"
#include "server/model/graph.h"
#include "server/model/rules.h"
#include "server/model/storage.h"
#include "server/model/tensor.h"
#include "server/model/watch.h"
#include "server/watch/hit_log.h"

namespace graphdbg::jobs {

// The first tensor of a rank and step that is not finite.
struct SavedOrigin {
  uint64_t step = 0;
  uint32_t rank = 0;
  graph::NodeIndex node = graph::kNoNode;
  uint32_t slot = 0;
  uint64_t order = 0;
  // The node is a collective, which has received the values.
  bool received = false;
};

// Records one job. Calls neither block nor fail, and must not be concurrent.
class JobJournal {
 public:
  virtual ~JobJournal() = default;

  // A process connected as the rank. Unless it is the process that held the
  // rank before, its numbering of nodes and hits starts anew.
  virtual void RecordHello(uint32_t rank, const AgentHello& hello,
                           bool same_process) = 0;
  // `exit_report` is null until the rank has ended in good order.
  virtual void RecordState(uint32_t rank, const RunState& run,
                           const ExitReport* exit_report,
                           int64_t now_unix_nano) = 0;
  // The changes that a patch from this rank made to the graph.
  virtual void RecordGraph(uint32_t rank, const graph::GraphStore& graph,
                           const graph::GraphChanges& changes) = 0;
  // The last step of each node. RecordGraph omits nodes whose last step is the
  // only change.
  virtual void RecordLastSteps(const graph::GraphStore& graph) = 0;
  // A watchpoint was created, changed, or, if `spec` is null, removed. Of its
  // earlier revisions only the condition is kept.
  virtual void RecordWatchpoint(uint32_t id, uint32_t revision,
                                const model::WatchpointSpec* spec) = 0;
  // Replaces the recorded rules.
  virtual void RecordRules(const model::KeptRules& rules) = 0;
  // Removes a revision that no hit refers to.
  virtual void EraseRevision(uint32_t id, uint32_t revision) = 0;
  // `number` is the agent's own number of the hit. `kept` is false if the hit
  // is counted but not stored.
  virtual void RecordHit(const watch::HitRecord& hit, uint64_t number,
                         bool kept) = 0;
  // Replaces the recorded statistics of this tensor and step, if any. Dropped
  // if too much waits to be written.
  virtual void RecordStatistics(uint32_t rank, graph::NodeIndex node,
                                uint32_t slot, uint64_t step,
                                const model::Statistics& statistics) = 0;
  // Removes the recorded statistics of this tensor and step, if any.
  virtual void EraseStatistics(uint32_t rank, graph::NodeIndex node,
                               uint32_t slot, uint64_t step) = 0;
  // Replaces the recorded origin of this rank and step, if any.
  virtual void RecordOrigin(const SavedOrigin& origin) = 0;
  // Removes the recorded origins of all ranks in this step.
  virtual void EraseOrigins(uint64_t step) = 0;
  // Removes the job and all its records. What is recorded afterwards is
  // dropped. May be called on any thread.
  virtual void Forget() = 0;

  // Both call `then` once, on any thread, when everything recorded so far would
  // survive a crash of this process. While the journal cannot write,
  // WhenDurable calls it with the error at once, although the records will
  // still be written, and OnceDurable waits. An error of OnceDurable means that
  // the records of this job will never be written.
  virtual void WhenDurable(std::function<void(absl::Status)> then) = 0;
  virtual void OnceDurable(std::function<void(absl::Status)> then) = 0;

  // OK, or why records of this job cannot be written at present. Any thread.
  virtual absl::Status status() const = 0;
  // Whether so much waits to be written that no more should be recorded. Any
  // thread.
  virtual bool full() const = 0;
};

struct SavedRank {
  AgentHello hello;
  RunState run;
  // When that state began; 0 if it is not known.
  int64_t changed_at_unix_nano = 0;
  std::optional<ExitReport> exit_report;
  // Node ids of the process.
  graph::AgentIds ids;
  // The process's own number of its newest hit.
  uint64_t last_hit = 0;
};

struct SavedRevision {
  uint32_t id = 0;
  uint32_t revision = 0;
  // Absent: removed.
  std::optional<model::WatchpointSpec> spec;
};

struct SavedStatistics {
  uint32_t rank = 0;
  graph::NodeIndex node = 0;
  uint32_t slot = 0;
  uint64_t step = 0;
  model::Statistics statistics;
};

// A job as the journal recorded it.
struct SavedJob {
  std::string id;
  // The id that agents request. Several runs of a job share it.
  std::string requested_id;
  // The id of the newest run with this requested id, which may have been
  // removed. Empty if it is unknown.
  std::string newest_id;
  int64_t created_at_unix_nano = 0;
  // Includes hits that were counted but not stored.
  uint64_t hit_total = 0;
  std::map<uint32_t, SavedRank> ranks;
  // In the order of their indices, which `patches` do not contain.
  std::vector<model::SourceLine> frames;
  // Applied in this order, they reproduce the indices of nodes. Each node's id
  // is its index plus one.
  std::vector<graph::GraphPatch> patches;
  std::vector<uint64_t> last_steps;
  // By id and revision.
  std::vector<SavedRevision> watchpoints;
  // By id; their conditions are null.
  std::vector<watch::HitRecord> hits;
  std::vector<SavedStatistics> statistics;
  std::vector<SavedOrigin> origins;
  model::KeptRules rules;
  // Why the fields above are incomplete; empty if they are complete.
  std::string damage;
  std::unique_ptr<JobJournal> journal;
};

class Journal {
 public:
  virtual ~Journal() = default;

  // The number of servers that have used this journal before this one.
  virtual uint64_t generation() const = 0;

  // Passes every recorded job to `each`, in the order in which the jobs were
  // created; of a damaged job what can be read. Must be called once, before any
  // other method. DATA_LOSS, with the name of the file and the damage, if the
  // jobs cannot be listed.
  virtual absl::Status Load(const std::function<void(SavedJob)>& each) = 0;

  // Starts the records of a new job. Any thread.
  virtual std::unique_ptr<JobJournal> Open(const std::string& id,
                                           const std::string& requested_id,
                                           int64_t created_at_unix_nano) = 0;

  // Writes all records and closes the files. Later records are dropped, and
  // callbacks that wait for them are not called. Must be called once.
  virtual void Close() = 0;

  // Whether the journal exceeds its size limit, so that ended jobs should be
  // forgotten. Any thread.
  virtual bool over_limit() const = 0;
  // Whether so much waits to be written that no new job should be opened. Any
  // thread.
  virtual bool full() const = 0;

  // Whether records can be written; without the jobs that were set aside. Any
  // thread.
  virtual model::Storage storage() const = 0;
  // Calls `changed` on a thread of the journal when storage().failing changes.
  virtual void Listen(std::function<void()> changed) = 0;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_JOURNAL_H_
