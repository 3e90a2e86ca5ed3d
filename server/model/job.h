// Jobs, their ranks, the commands that control them, and their events.
#ifndef SERVER_MODEL_JOB_H_
#define SERVER_MODEL_JOB_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/model/rules.h"
#include "server/model/storage.h"
#include "server/model/watch.h"

namespace graphdbg::model {

// The state of a job or of one rank.
enum class JobState {
  kConnecting,
  kPaused,
  kRunning,
  // A pause was requested and has not taken effect yet.
  kPausing,
  kFinished,
  kTerminated,
  // The connection was lost and the process has not come back.
  kLost,
};

// Why a job is paused.
enum class PauseReason {
  kNone,
  kStart,
  kStep,
  kNode,
  kWatchpoint,
  kUser,
  kError
};

// The commands of POST /control.
enum class ControlVerb {
  kContinue,
  kStep,
  kNextNode,
  kContinueTo,
  kPause,
  kTerminate,
  kRecheck
};

// Operations that the owner of a job allows the server (GRAPHDBG_ALLOW).
struct Allowed {
  // Read values of tensors.
  bool view = true;
  // Watchpoints, and every command but kTerminate.
  bool control = true;
  bool terminate = true;
  // Write to the job's tensors and settings.
  bool change = true;

  bool all() const { return view && control && terminate && change; }
};

// One process of a job.
struct Rank {
  uint32_t rank = 0;
  std::string host;
  uint64_t pid = 0;
  // The address that the agent connected from.
  std::string peer;
  // The device that the rank trains on, for example "cuda".
  std::string device;
  int32_t device_id = 0;
  JobState state = JobState::kConnecting;
  uint64_t step = 0;
  // Full name of the current node; empty at the end of a step.
  std::string node;
  // Without what does not change while the process lives: host, process, peer
  // and device.
  bool brief = false;
};

// The exception that ended a job.
struct Exception {
  std::string type;
  std::string message;
  std::string traceback;
  std::string node;
  // Its place among the exceptions of the job's ranks, from 1; 0: unknown.
  // Where a rank fails, others fail because they wait for it.
  uint64_t order = 0;

  bool operator==(const Exception&) const = default;
};

// The person or script that controls a job.
struct Controller {
  // The name of a token or session.
  std::string name;
  int64_t since_unix_nano = 0;
};

// A job as GET /jobs reports it.
struct Job {
  std::string id;
  std::string name;
  std::string framework;
  std::string framework_version;
  JobState state = JobState::kConnecting;
  PauseReason pause_reason = PauseReason::kNone;
  uint64_t step = 0;
  // Full name of the current node; empty at the end of a step.
  std::string node;
  uint32_t world_size = 1;
  int64_t created_at_unix_nano = 0;
  // Why the job could not be restored completely after a restart of the server;
  // empty if it could.
  std::string damaged;
  // Ascending.
  std::vector<Rank> ranks;
  // Whether `ranks` has them all. A job of many ranks lists only those that
  // have changed in its events, and the first ones in lists of jobs.
  bool lists_all_ranks = true;
  // Of a job of many ranks: how many are in each state.
  std::map<JobState, uint32_t> rank_states;
  uint64_t hit_count = 0;
  // Hits by infinities that reached no result, which hit_count excludes.
  uint64_t absorbed_hit_count = 0;
  // The number of all these hits that are stored and can be queried.
  uint64_t kept_hit_count = 0;
  // Further hits that agents dropped before they reached the server.
  uint64_t dropped_hit_count = 0;
  // The recommended watchpoints can be created and none of them exists yet.
  bool recommended_offered = false;
  // Ids of the watchpoints that caused the current pause.
  std::vector<uint32_t> stopped_by;
  // Ids of watchpoints that were set or changed since the job stopped and have
  // not been rechecked.
  std::vector<uint32_t> unchecked;
  // Commands that the job's framework does not support, with the reason.
  std::map<ControlVerb, std::string> unsupported;
  // The job's processes have shown that they belong to the server's user or
  // have a token. MindSpore's protocol has no credentials.
  bool verified = true;
  Allowed allowed;
  // The share of the time of recent steps that the job's threads have spent in
  // the agent, of the rank that spends most. Absent if it is not known.
  std::optional<double> overhead;
  // Absent if nobody controls the job.
  std::optional<Controller> controller;
  // Set once the job has ended.
  std::optional<int32_t> exit_code;
  // Set once the job has ended, or is paused for it.
  std::optional<Exception> exception;
  // The last value of each scalar that the program saved, by name, once the job
  // has ended. If several ranks saved one, the lowest rank's counts.
  std::map<std::string, double> metrics;
};

// The nodes that kNextNode passes over. If any are, it stops at the end of the
// step if all that are left of it are passed over. A scope is a prefix of full
// names without the last '/'; empty: the top.
struct PassedNodes {
  // Nodes of scopes inside this one, but not its own.
  std::optional<std::string> within;
  // Nodes of this scope and of those inside it. At most one of both is set.
  std::optional<std::string> outside;
  // Nodes with the user's source line of the node at which the rank stands.
  bool other_line = false;

  bool any() const { return within || outside || other_line; }
};

// A command from a client.
struct ControlRequest {
  ControlVerb verb = ControlVerb::kContinue;
  uint64_t steps = 1;
  std::string node;
  // kContinueTo: accept a node that is not known yet.
  bool pending = false;
  PassedNodes passed;
  // Absent for all ranks.
  std::optional<uint32_t> rank;
  // The name of the caller's token or session. Empty for the server's own
  // commands.
  std::string user;
  // The client that sent the command, for example "graphdbg" or "browser", and
  // its address.
  std::string client;
  std::string peer;
};

// A change that subscribers of GET /events receive. Which fields are set
// depends on the type.
struct Event {
  enum class Type {
    kJob,
    kState,
    kGraph,
    kHit,
    kTensor,
    kWatchpoint,
    kLog,
    kCommand,
    kFinding,
    // Concerns the server, not a job; `job` is empty.
    kServer
  };
  Type type = Type::kState;
  // Assigned by the job: consecutive, from 1.
  uint64_t seq = 0;
  std::string job;
  uint32_t rank = 0;
  // kJob, kState: the job after the change. Absent in the kJob event that
  // reports the job's removal, which is its last event.
  std::optional<Job> job_info;
  // kHit.
  std::optional<Hit> hit;
  // kFinding.
  std::optional<Finding> finding;
  // kWatchpoint: the watchpoint after the change; only the id if it was
  // removed.
  std::optional<Watchpoint> watchpoint;
  uint32_t watchpoint_id = 0;
  // kGraph: the number of nodes after the change.
  uint64_t node_count = 0;
  // kLog; also kState when a command failed ("error" and the reason).
  std::string level;
  std::string message;
  // kCommand: the command was accepted.
  std::optional<ControlRequest> command;
  // kCommand; also kState when the command took effect or was refused.
  std::string command_id;
  // kServer.
  std::optional<Storage> storage;
};

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_JOB_H_
