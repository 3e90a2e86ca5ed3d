// The interface between jobs and the protocols that agents speak: the reports
// of a rank and the orders to it, as plain values. graphdbg's own wire (ingest)
// and MindSpore's debugger protocol both translate to these values.
//
// Every method may be called on any thread and never blocks.
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
#include "server/jobs/overview_tensor.h"
#include "server/model/graph.h"
#include "server/model/job.h"
#include "server/model/overview.h"
#include "server/model/recording.h"
#include "server/model/tensor.h"
#include "server/model/watch.h"

namespace graphdbg::jobs {

// --- From the agent -------------------------------------------------------

// The framework whose own protocol, which has no credentials, connects jobs.
inline constexpr char kUnverifiedFramework[] = "mindspore";

struct AgentHello {
  std::string job;
  std::string job_name;
  uint32_t rank = 0;
  uint32_t world_size = 1;
  std::string framework;
  std::string framework_version;
  std::string host;
  uint64_t pid = 0;
  // The address that the agent connected from.
  std::string peer;
  std::string device;
  int32_t device_id = 0;
  // Random, one per process: distinguishes a reconnection from a new process.
  // Secret: by it a process proves that it had the rank before.
  std::string incarnation;
  // Commands that the agent does not support, with the reason.
  std::map<model::ControlVerb, std::string> unsupported = {};
  model::Allowed allowed = {};
  // The recording of the rank can be switched on and off.
  bool can_record = false;
  // More can be recorded for some steps.
  bool can_boost = false;
  // The agent makes bundles of hits.
  bool can_capture = false;
  // The agent repeats ops in the paused process, and changes it.
  bool can_experiment = false;
  bool can_change = false;
  // The agent passes over nodes in kNextNode.
  bool passes_over = false;
  // The agent counts hits, for watchpoints that pass over some.
  bool counts_hits = false;
  // The agent knows all fields of selections, not only names and categories.
  bool selects = false;
  // The agent offers its whole graph on each stream, so that the ids of its
  // nodes need not outlive the server.
  bool offers_graph = false;
  // If another process is the only rank of the job, this one is refused with
  // rank_taken and chooses another id, instead of being the next run of this.
  bool chooses_another_id = false;
};

// Asks what the server needs of the next patch. Answered with NeededGraphOrder.
struct GraphOffer {
  struct File {
    std::string name;
    graph::Digest digest = 0;
  };
  // The agent's own ids of the nodes, and as many digests.
  std::vector<uint32_t> nodes;
  std::vector<graph::Digest> digests;
  std::vector<File> files;
};

// A rank has paused, resumed or reached a new step.
struct RunReport {
  bool paused = false;
  model::PauseReason reason = model::PauseReason::kNone;
  uint64_t step = 0;
  // 0 at the end of a step.
  uint32_t node_id = 0;
  // A requested pause takes effect at the end of this step at the latest. 0: no
  // pause is pending.
  uint64_t pauses_after = 0;
  std::vector<uint32_t> watchpoints;
  // The exception that is about to end the program, if it is paused for that.
  std::optional<model::Exception> exception;
  // The program is to end at once if nobody looks at the job.
  bool resume_if_unattended = false;
  // The accelerator that holds the program's tensors, as in AgentHello. Empty
  // if the agent has not seen one.
  std::string device;
  int32_t device_id = 0;
  // The share of the program's time that passes in the agent; absent if it is
  // not known.
  std::optional<double> overhead;
};

// A tensor matched the condition of a watchpoint.
struct HitReport {
  // The process's own number of the hit, ascending from 1. Agents that resend
  // unconfirmed hits after a reconnection number them so that no hit is
  // recorded twice. 0: the protocol does not number hits.
  uint64_t number = 0;
  // The agent's own id of the node.
  uint32_t node_id = 0;
  model::Hit hit;
};

// Statistics of watched tensors at one step.
struct StatisticsReport {
  struct Tensor {
    uint32_t node_id = 0;
    uint32_t slot = 0;
    model::Statistics statistics;
  };
  uint64_t step = 0;
  std::vector<Tensor> tensors;
};

// Digests of a rank's copies of tensors of which all ranks of a group have
// equal ones. Those of the same moment are compared.
struct ReplicaReport {
  struct Replica {
    uint32_t node_id = 0;
    uint64_t digest = 0;
  };
  uint64_t step = 0;
  std::string group;
  uint32_t group_size = 0;
  uint64_t moment = 0;
  std::vector<Replica> replicas;
};

// The first tensor with values that are not finite in a step in which they have
// met a watchpoint's condition.
struct OriginReport {
  uint64_t step = 0;
  uint32_t node_id = 0;
  uint32_t slot = 0;
  uint64_t order = 0;
  // The node is a collective, which has received them from another rank.
  bool received = false;
};

// What the tensors at the borders of modules were like in a step, and how long
// its ops took.
struct OverviewReport {
  struct Tensor {
    uint32_t node_id = 0;
    OverviewTensor tensor;
  };
  struct Op {
    uint32_t node_id = 0;
    uint32_t thread = 0;
    // Since the begin of the step.
    uint64_t start_ns = 0;
    uint64_t duration_ns = 0;
  };
  model::OverviewStep step;
  std::vector<Tensor> tensors;
  // In the order in which their calls ended; empty if they were not timed.
  std::vector<Op> ops;
  uint64_t ops_left_out = 0;
};

// Describes the tensor whose bytes follow.
struct TensorHeader {
  model::TensorType type;
  std::vector<int64_t> slice_shape;
  uint64_t total_bytes = 0;
  uint64_t step = 0;
  bool overwritten = false;
  double grad_scale = 0;
  std::optional<model::Statistics> statistics;
  std::optional<Quantiles> quantiles;
};

// A part of the answer to a TensorOrder.
struct TensorChunk {
  uint64_t request_id = 0;
  // Set in the first chunk only.
  std::optional<TensorHeader> header;
  absl::Cord data;
  bool last = false;
  // If not OK, the agent cannot answer, or cannot complete the answer.
  absl::Status error;
};

// A command took effect or was refused.
struct CommandOutcome {
  uint64_t command_id = 0;
  absl::Status error;
};

// Whether the agent can check this revision of a watchpoint.
struct WatchpointReport {
  uint32_t id = 0;
  uint32_t revision = 0;
  absl::Status error;
};

// The state of the rank's recording.
struct RecordingReport {
  // The order that this answers; 0: none.
  uint64_t order = 0;
  // `rank`, `host` and `supported` are not set.
  model::RankRecording recording;
  absl::Status error;
};

// A message for the job's log.
struct LogReport {
  // "info", "warning" or "error".
  std::string level;
  std::string message;
  // The number of hits that the agent has dropped, if the message reports that.
  uint64_t dropped_hits = 0;
};

// The last report of an agent that ends in good order.
struct ExitReport {
  int32_t exit_code = 0;
  std::optional<model::Exception> exception;
  uint64_t steps = 0;
  bool terminated = false;
  // The last value of each scalar that the program saved, by name.
  std::map<std::string, double> metrics;
};

using AgentReport =
    std::variant<graph::GraphPatch, GraphOffer, RunReport, HitReport,
                 TensorChunk, CommandOutcome, WatchpointReport,
                 StatisticsReport, ReplicaReport, OriginReport, OverviewReport,
                 RecordingReport, LogReport, ExitReport>;

// --- To the agent ---------------------------------------------------------

// Always the first order.
struct WelcomeOrder {
  // The job's id, which may differ from the requested one.
  std::string job;
  // The number of SetWatchpointOrders that follow immediately.
  uint32_t watchpoint_count = 0;
  // The job knows this process and the graph that it has reported.
  bool resumed = false;
};

struct CommandOrder {
  uint64_t id = 0;
  model::ControlVerb verb = model::ControlVerb::kContinue;
  uint64_t steps = 1;
  std::string node;
  bool pending = false;
  // kNextNode: the nodes to pass over.
  model::PassedNodes passed = {};
  // kRecheck: the watchpoints to check again.
  std::vector<uint32_t> watchpoints = {};
  // kStep: watchpoints do not stop the rank before the last step has ended.
  bool past_hits = false;
  // kPause: pause at the end of the current step, not at a node.
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

// Keep the outputs of the node when it executes next.
struct CatchTensorOrder {
  std::string node;
  // Why a bundle is written as well; empty: none is.
  std::string capture = {};
};

struct SetRecordingOrder {
  uint64_t id = 0;
  model::RecordingSpec spec;
};

// The numbered hits up to this one have been stored durably: the agent may
// discard them.
struct HitsRecordedOrder {
  uint64_t through = 0;
};

// Report this as a hit of each watchpoint with the condition that covers the
// node.
struct FindingOrder {
  std::string condition;
  uint64_t step = 0;
  // The agent's own id of the node.
  uint32_t node_id = 0;
  std::string message;
};

// The positions in the offer of what the agent is to send. The rest is known.
struct NeededGraphOrder {
  std::vector<uint32_t> nodes;
  std::vector<uint32_t> files;
};

using AgentOrder =
    std::variant<WelcomeOrder, CommandOrder, SetWatchpointOrder,
                 RemoveWatchpointOrder, TensorOrder, CancelTensorOrder,
                 CatchTensorOrder, SetRecordingOrder, HitsRecordedOrder,
                 FindingOrder, NeededGraphOrder>;

// Sends orders to one agent. Implemented by each agent protocol.
class AgentLink {
 public:
  virtual ~AgentLink() = default;

  // Sends orders in the order of the calls. Orders that cannot be sent are
  // dropped; a broken link is reported through AgentPort::Closed.
  virtual void Send(AgentOrder order) = 0;

  // Ends the stream after the orders sent so far. Only the first call counts.
  virtual void Close(absl::Status status) = 0;
};

// Delivers the reports of one agent to its job. Created by AgentAcceptor.
class AgentPort {
 public:
  virtual ~AgentPort() = default;

  // Reports take effect in the order of the calls. `done` is called once, on
  // any thread, when the report has been processed and what it changed has been
  // stored durably. A protocol that waits for `done` before it reads the next
  // report never holds more than one report in memory. UNAVAILABLE "not_kept"
  // means that the server cannot store anything at present; the report has been
  // processed and will be stored later (see HitsRecordedOrder). Any other error
  // names the rule that the report violated, and the stream must end.
  virtual void Deliver(AgentReport report,
                       std::function<void(absl::Status)> done) = 0;

  // The stream has ended, in good order or not. Must be the last call.
  virtual void Closed() = 0;
};

// Accepts agents and assigns them to jobs.
class AgentAcceptor {
 public:
  virtual ~AgentAcceptor() = default;

  using Answer =
      std::function<void(absl::StatusOr<std::shared_ptr<AgentPort>>)>;

  // Finds or creates the job and claims the rank. Calls `answer` once, on any
  // thread, after the welcome and the job's watchpoints have been passed to
  // `link`. ALREADY_EXISTS if another live process holds the rank,
  // RESOURCE_EXHAUSTED if the server is full.
  virtual void Attach(AgentHello hello, std::shared_ptr<AgentLink> link,
                      Answer answer) = 0;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_AGENT_PORT_H_
