// What of a session outlives the server, and who writes it down.
//
// What is noted is written in the order of the calls, so that what is found
// after a server was killed is all that was noted up to some moment.
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
#include "server/model/tensor.h"
#include "server/model/watch.h"
#include "server/watch/hit_log.h"

namespace graphdbg::jobs {

// Writes down one job. No call blocks or fails; one thread at a time.
class JobJournal {
 public:
  virtual ~JobJournal() = default;

  // A process of the rank said hello. If it is not the one that was there
  // before, what it reported (numbers of nodes and of hits) starts anew.
  virtual void NoteHello(uint32_t rank, const AgentHello& hello,
                         bool same_process) = 0;
  // `farewell` is null until the rank has ended in good order.
  virtual void NoteState(uint32_t rank, const RunState& run,
                         const Farewell* farewell) = 0;
  // What a patch of this rank changed.
  virtual void NoteGraph(uint32_t rank, const graph::GraphStore& graph,
                         const graph::GraphChanges& changes) = 0;
  // The last step of each node, which NoteGraph leaves out where nothing else
  // is new.
  virtual void NoteLastSteps(const graph::GraphStore& graph) = 0;
  // A watchpoint was made or changed; null `spec`: it was removed.
  virtual void NoteWatchpoint(uint32_t id, uint32_t revision,
                              const model::WatchpointSpec* spec) = 0;
  // `number` is the agent's own of this hit; `kept`: not only counted.
  virtual void NoteHit(const watch::HitRecord& hit, uint64_t number,
                       bool kept) = 0;
  // That somebody asked for.
  virtual void NoteStatistics(uint32_t rank, graph::NodeIndex node,
                              uint32_t slot, uint64_t step,
                              const model::Statistics& statistics) = 0;
  // They are not kept any more, if they were.
  virtual void DropStatistics(uint32_t rank, graph::NodeIndex node,
                              uint32_t slot, uint64_t step) = 0;
  // The job, with all that was noted of it. Nothing may be noted afterwards.
  virtual void Forget() = 0;

  // `then` is called once, on any thread, when what was noted so far survives
  // the end of this process, however it ends; or with the error because of
  // which it does not.
  virtual void WhenKept(std::function<void(absl::Status)> then) = 0;
};

struct SavedRank {
  AgentHello hello;
  RunState run;
  std::optional<Farewell> farewell;
  // The process's numbers of nodes.
  graph::AgentIds ids;
  // The newest hit of the process, by its own number.
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

// A job as it was written down.
struct SavedJob {
  std::string id;
  std::string asked_for;
  int64_t created_at_unix_nano = 0;
  // With those that were only counted.
  uint64_t hit_total = 0;
  std::map<uint32_t, SavedRank> ranks;
  // In the order of their indices, which `patches` do not tell.
  std::vector<model::SourceLine> frames;
  // Give the same indices if they are applied in this order; each node's id is
  // its index plus one.
  std::vector<graph::GraphPatch> patches;
  std::vector<uint64_t> last_steps;
  // By id and revision.
  std::vector<SavedRevision> watchpoints;
  // By id; their conditions are null.
  std::vector<watch::HitRecord> hits;
  std::vector<SavedStatistics> statistics;
  std::unique_ptr<JobJournal> journal;
};

class Journal {
 public:
  virtual ~Journal() = default;

  // How many servers have used this journal before this one.
  virtual uint64_t life() const = 0;

  // The jobs that were written down, in the order in which they came. Once,
  // before all else. DATA_LOSS names the file and says what is wrong with it.
  virtual absl::Status Load(
      const std::function<absl::Status(SavedJob)>& each) = 0;

  // A job that is new. Any thread.
  virtual std::unique_ptr<JobJournal> Open(const std::string& id,
                                           const std::string& asked_for,
                                           int64_t created_at_unix_nano) = 0;

  // Writes what was noted, and lets go of the files. What is noted later is
  // dropped, and who waits for it is not called. Once.
  virtual void Close() = 0;

  // Whether more is kept than was allowed for: ended jobs should go. Any
  // thread.
  virtual bool over_limit() const = 0;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_JOURNAL_H_
