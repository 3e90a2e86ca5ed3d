// The side of a session that fronts for agents use: what a rank reports and
// what it is ordered to do, as plain values. graphdbg's own wire is one such
// front; other wires translate to the same values.
//
// Threads: every method may be called on any thread and never blocks.
#ifndef SERVER_JOBS_AGENT_PORT_H_
#define SERVER_JOBS_AGENT_PORT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "server/graph/node_record.h"
#include "server/model/graph.h"
#include "server/model/job.h"
#include "server/model/tensor.h"
#include "server/model/watch.h"

namespace graphdbg::jobs {

// --- From the agent -------------------------------------------------------

struct AgentHello {
  std::string job;
  std::string job_name;
  uint32_t rank = 0;
  uint32_t world_size = 1;
  std::string framework;
  std::string framework_version;
  std::string host;
  uint64_t pid = 0;
  // Address the agent dialled from.
  std::string peer;
  std::string device;
  int32_t device_id = 0;
  // Random, one per process: tells a reconnection from another process.
  std::string incarnation;
  // Commands that it cannot follow, and why.
  std::map<model::ControlVerb, std::string> unsupported = {};
};

struct RunReport {
  bool paused = false;
  model::PauseReason reason = model::PauseReason::kNone;
  uint64_t step = 0;
  // 0 at a step's end.
  uint32_t node_id = 0;
  // A pause that was asked for comes at this step's end at the latest; 0: none
  // was, or it has come.
  uint64_t pauses_after = 0;
  std::vector<uint32_t> watchpoints;
  // The accelerator on which the program has tensors, as in AgentHello; empty:
  // none was seen.
  std::string device;
  int32_t device_id = 0;
};

struct HitReport {
  // From 1 in the process, ascending, for fronts whose agents send again what
  // was not dealt with when a stream broke: a number that was there before is
  // not recorded twice. 0: the front does not know.
  uint64_t number = 0;
  // The agent's own id of the node.
  uint32_t node_id = 0;
  model::Hit hit;
};

// What a step made of watched tensors.
struct StatisticsReport {
  struct Tensor {
    uint32_t node_id = 0;
    uint32_t slot = 0;
    model::Statistics statistics;
  };
  uint64_t step = 0;
  std::vector<Tensor> tensors;
};

struct TensorHeader {
  model::TensorType type;
  std::vector<int64_t> slice_shape;
  uint64_t total_bytes = 0;
  uint64_t step = 0;
  bool overwritten = false;
  double grad_scale = 0;
  std::optional<model::Statistics> statistics;
};

// One piece of the answer to an order for a tensor.
struct TensorPiece {
  uint64_t request_id = 0;
  std::optional<TensorHeader> header;
  absl::Cord data;
  bool last = false;
  // Not OK: instead of an answer, or in the midst of one.
  absl::Status error;
};

struct CommandOutcome {
  uint64_t command_id = 0;
  absl::Status error;
};

struct WatchpointReport {
  uint32_t id = 0;
  uint32_t revision = 0;
  absl::Status error;
};

struct LogReport {
  // "info", "warning" or "error".
  std::string level;
  std::string message;
  // So many hits did not come, which it tells of.
  uint64_t dropped_hits = 0;
};

// The last report of an agent that ends in good order.
struct Farewell {
  int32_t exit_code = 0;
  std::optional<model::Exception> exception;
  uint64_t steps = 0;
  bool terminated = false;
};

using AgentReport = std::variant<graph::GraphPatch, RunReport, HitReport,
                                 TensorPiece, CommandOutcome, WatchpointReport,
                                 StatisticsReport, LogReport, Farewell>;

// --- To the agent ---------------------------------------------------------

// Always the first order.
struct WelcomeOrder {
  // The id the job goes by, which need not be the one asked for.
  std::string job;
  // Orders to set watchpoints that follow at once.
  uint32_t watchpoint_count = 0;
  // The job knows this process, and the graph that it has told.
  bool resumed = false;
};

struct CommandOrder {
  uint64_t id = 0;
  model::ControlVerb verb = model::ControlVerb::kContinue;
  uint64_t steps = 1;
  std::string node;
  bool pending = false;
  // Of a recheck.
  std::vector<uint32_t> watchpoints = {};
  // Of steps: watchpoints do not stop it before their end.
  bool past_hits = false;
  // Of a pause: not before the step under way has ended.
  bool at_step_end = false;
};

struct SetWatchpointOrder {
  uint32_t id = 0;
  uint32_t revision = 0;
  model::WatchpointSpec spec;
};

struct RemoveWatchpointOrder {
  uint32_t id = 0;
};

struct TensorOrder {
  uint64_t request_id = 0;
  model::TensorQuery query;
};

struct CancelTensorOrder {
  uint64_t request_id = 0;
};

struct CatchTensorOrder {
  std::string node;
};

using AgentOrder = std::variant<WelcomeOrder, CommandOrder, SetWatchpointOrder,
                                RemoveWatchpointOrder, TensorOrder,
                                CancelTensorOrder, CatchTensorOrder>;

// The way to one agent; implemented by a front.
class AgentLink {
 public:
  virtual ~AgentLink() = default;

  // Sends in the order of the calls. What cannot be sent is dropped: the
  // session learns of a broken link through AgentPort::Closed.
  virtual void Send(AgentOrder order) = 0;

  // Ends the stream, with what was sent before. The first call counts.
  virtual void Close(absl::Status status) = 0;
};

// The way of one agent to its job; given out by AgentEntrance.
class AgentPort {
 public:
  virtual ~AgentPort() = default;

  // Reports take effect in the order of the calls. `done` is called once, on
  // any thread, when the report has been dealt with: a hit outlives the server
  // from then on. A front that waits for it before it reads on never holds more
  // than one report in memory. A status that is not OK says which rule the
  // report broke: the stream must end.
  virtual void Deliver(AgentReport report,
                       std::function<void(absl::Status)> done) = 0;

  // The stream is over, in good order or not. The last call.
  virtual void Closed() = 0;
};

// Where agents come in.
class AgentEntrance {
 public:
  virtual ~AgentEntrance() = default;

  using Answer =
      std::function<void(absl::StatusOr<std::shared_ptr<AgentPort>>)>;

  // Finds or makes the job and claims the rank. The welcome and the job's
  // watchpoints have been given to `link` when `answer` is called, once, on
  // any thread. ALREADY_EXISTS if another live process is this rank,
  // RESOURCE_EXHAUSTED if the server is full.
  virtual void Attach(AgentHello hello, std::shared_ptr<AgentLink> link,
                      Answer answer) = 0;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_AGENT_PORT_H_
