// The one interface between sessions and their fronts. A front decodes a
// request, calls one of these, and encodes the answer.
//
// Threads: every method may be called from any executor. A job does its work
// on a strand of its own and answers on the caller's executor.
//
// Errors carry a canonical code and a message for people; a stable word for
// programs lies in the payload (see server/base/error.h), for
// example "unknown_node", "invalid_state", "slice_too_large", "value_gone".
#ifndef SERVER_JOBS_INTERFACES_H_
#define SERVER_JOBS_INTERFACES_H_

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/model/graph.h"
#include "server/model/job.h"
#include "server/model/neighbours.h"
#include "server/model/tensor.h"
#include "server/model/watch.h"

namespace graphdbg::jobs {

template <class T>
using Task = boost::asio::awaitable<absl::StatusOr<T>>;
using StatusTask = boost::asio::awaitable<absl::Status>;

class Job {
 public:
  virtual ~Job() = default;

  virtual const std::string& id() const = 0;

  virtual Task<model::Job> Describe() = 0;
  // The id under which the command's outcome is reported in events.
  // FAILED_PRECONDITION "invalid_state", NOT_FOUND "unknown_node",
  // UNIMPLEMENTED "unsupported_command".
  virtual Task<std::string> Control(model::ControlRequest request) = 0;

  virtual Task<std::vector<model::GraphSummary>> Graphs() = 0;
  // The whole graph; NOT_FOUND "unknown_graph".
  virtual Task<std::shared_ptr<const model::GraphFile>> Index(
      std::string graph) = 0;
  // A page of it, from 0 on; NOT_FOUND "unknown_graph".
  virtual Task<model::GraphPage> Export(std::string graph, uint64_t from) = 0;
  // More than `aggregate_above` like siblings are shown as one, which is
  // opened by its name as scopes are; absent: all are shown.
  virtual Task<model::ScopeView> Scope(
      std::string graph, std::string name,
      std::optional<uint32_t> aggregate_above) = 0;
  virtual Task<model::NodeDetail> Node(std::string name) = 0;
  virtual Task<model::SearchResult> Search(model::SearchQuery query) = 0;
  // NOT_FOUND "unknown_node" or "unknown_slot".
  virtual Task<model::Neighbours> Around(model::NeighbourQuery query) = 0;

  virtual Task<std::vector<model::Watchpoint>> Watchpoints() = 0;
  virtual Task<model::Watchpoint> GetWatchpoint(uint32_t id) = 0;
  virtual Task<model::Watchpoint> AddWatchpoint(model::WatchpointSpec spec) = 0;
  // How many known nodes it would cover; its condition may lack parameters.
  virtual Task<uint64_t> CountNodes(model::WatchpointSpec spec) = 0;
  virtual Task<model::Watchpoint> ChangeWatchpoint(
      uint32_t id, model::WatchpointChange change) = 0;
  virtual StatusTask RemoveWatchpoint(uint32_t id) = 0;
  // Makes those that are not there.
  virtual Task<model::RecommendedSet> AddRecommended() = 0;

  virtual Task<model::HitPage> Hits(model::HitQuery query) = 0;
  // Of those that are kept, the last that came, oldest first.
  virtual Task<std::vector<model::Hit>> NewestHits(uint32_t limit) = 0;

  virtual Task<std::vector<model::TensorSummary>> Tensors(std::string node,
                                                          uint32_t rank) = 0;
  // Waits for the agent; DEADLINE_EXCEEDED after 30 s.
  virtual Task<model::TensorValue> Tensor(model::TensorQuery query) = 0;
  // What is known of it, also of a job that has ended. NOT_FOUND
  // "unknown_node", "unknown_slot" or "unknown_rank".
  virtual Task<model::TensorHistory> History(std::string node, uint32_t slot,
                                             uint32_t rank) = 0;
  // The node's outputs will be there at the first stop after it has executed
  // again. UNAVAILABLE "job_gone" if the rank is not connected.
  virtual StatusTask CatchTensors(std::string node, uint32_t rank) = 0;
};

// Receives every event of every job, in order per job. Called on the job's
// strand: must not block.
using EventSink =
    std::function<void(const std::shared_ptr<const model::Event>&)>;

class Directory {
 public:
  virtual ~Directory() = default;

  virtual std::vector<std::shared_ptr<Job>> Jobs() const = 0;
  // Null if there is none.
  virtual std::shared_ptr<Job> Find(const std::string& id) const = 0;
  // FAILED_PRECONDITION while the job is alive.
  virtual StatusTask Forget(std::string id) = 0;

  // Until the returned handle is destroyed.
  virtual std::shared_ptr<void> Subscribe(EventSink sink) = 0;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_INTERFACES_H_
