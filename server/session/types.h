// What a session tells its fronts (HTTP, wires): plain values, no behaviour.
// Field names and words are those of the HTTP API.
#ifndef SERVER_SESSION_TYPES_H_
#define SERVER_SESSION_TYPES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace graphdbg::session {

enum class JobState {
  kConnecting,
  kPaused,
  kRunning,
  // A pause was asked for and has not taken effect yet.
  kPausing,
  kFinished,
  kTerminated,
  kLost,
};

enum class PauseReason {
  kNone,
  kStart,
  kStep,
  kNode,
  kWatchpoint,
  kUser,
  kError
};

enum class ControlVerb {
  kContinue,
  kStep,
  kNextNode,
  kContinueTo,
  kPause,
  kTerminate,
  kRecheck
};

struct RankInfo {
  uint32_t rank = 0;
  std::string host;
  uint64_t pid = 0;
  std::string peer;
  std::string device;
  int32_t device_id = 0;
  JobState state = JobState::kConnecting;
  uint64_t step = 0;
  std::string node;
};

struct ExceptionInfo {
  std::string type;
  std::string message;
  std::string traceback;
  std::string node;
};

struct JobInfo {
  std::string id;
  std::string name;
  std::string framework;
  std::string framework_version;
  JobState state = JobState::kConnecting;
  PauseReason pause_reason = PauseReason::kNone;
  uint64_t step = 0;
  // Full name of the node it stopped at; empty at a step's end.
  std::string node;
  uint32_t world_size = 1;
  int64_t created_at_unix_nano = 0;
  std::vector<RankInfo> ranks;
  uint64_t hit_count = 0;
  // Of those, so many can be asked for.
  uint64_t kept_hit_count = 0;
  // Besides those, so many were met and did not come.
  uint64_t dropped_hit_count = 0;
  // The recommended watchpoints could be made, and none of them is there.
  bool recommended_offered = false;
  // Watchpoints that caused the present pause.
  std::vector<uint32_t> stopped_by;
  // Watchpoints that were set or changed since the job stopped, and have not
  // been rechecked.
  std::vector<uint32_t> unchecked;
  // Commands that the job's backend cannot follow, and why.
  std::map<ControlVerb, std::string> unsupported;
  // Once it ended.
  std::optional<int32_t> exit_code;
  std::optional<ExceptionInfo> exception;
};

struct SourceLine {
  std::string file;
  uint32_t line = 0;
  std::string function;
  std::string text;
  bool user = false;
};

struct TensorTypeInfo {
  // NumPy's name of the type: "float32", "bfloat16", "int64", "bool".
  std::string dtype;
  std::vector<int64_t> shape;

  bool operator==(const TensorTypeInfo&) const = default;
};

struct OutputInfo {
  uint32_t slot = 0;
  TensorTypeInfo type;

  bool operator==(const OutputInfo&) const = default;
};

// A tensor at one end of an edge.
struct Endpoint {
  std::string node;
  uint32_t slot = 0;
  TensorTypeInfo type;
};

enum class NodeKind {
  kScope,
  kOp,
  kParameter,
  kBuffer,
  kConstant,
  kInput,
  kAggregate
};
enum class Category { kOther, kWeight, kGradient, kActivation, kOptimizer };
enum class Watched { kNone, kSome, kAll };

struct NodeInfo {
  std::string name;
  // Last segment of the name.
  std::string label;
  NodeKind kind = NodeKind::kOp;
  // For a scope the module's class if known.
  std::string op_type;
  Category category = Category::kOther;
  uint32_t child_count = 0;
  uint32_t descendant_count = 0;
  std::vector<OutputInfo> outputs;
  // Hits of the node, or of all below a scope.
  uint64_t hit_count = 0;
  Watched watched = Watched::kNone;
  std::optional<SourceLine> source;
  uint64_t order = 0;
  uint64_t first_step = 0;
  uint64_t last_step = 0;
};

struct NodeDetail {
  NodeInfo node;
  // Of its graph.
  std::string graph;
  std::vector<Endpoint> inputs;
  // Consumers, one for each edge that leaves.
  std::vector<Endpoint> consumers;
  std::map<std::string, std::string> attributes;
  std::vector<SourceLine> stack;
};

enum class EdgeKind { kData, kControl };

struct EdgeInfo {
  std::string from;
  std::string to;
  // How many op-level edges this one stands for.
  uint32_t tensors = 0;
  EdgeKind kind = EdgeKind::kData;
};

struct ScopeView {
  std::string scope;
  std::vector<NodeInfo> nodes;
  // Lifted to the children shown; those that leave the scope are not in it.
  std::vector<EdgeInfo> edges;
};

struct GraphInfo {
  std::string id;
  uint64_t node_count = 0;
  uint64_t edge_count = 0;
};

// A whole graph as one file, see proto/docs/graph-index.md.
struct GraphFile {
  // Changes with the graph, and is never the same for two jobs.
  std::string version;
  std::string gzip;
  // Of the file before it was compressed.
  uint64_t bytes = 0;
};

struct SearchQuery {
  // Substring of the full name, case-insensitive; empty: any.
  std::string q;
  std::optional<Category> category;
  std::optional<NodeKind> kind;
  std::string op_type;
  // "file.py" or "file.py:42"; matches by suffix of the path.
  std::string source;
  std::optional<uint32_t> watchpoint;
  uint32_t limit = 100;
  // Opaque, from SearchResult; empty: from the start.
  std::string cursor;
};

struct SearchResult {
  std::vector<NodeInfo> nodes;
  // Empty: no more.
  std::string next_cursor;
};

struct ConditionInstance {
  std::string id;
  // Numbers; true and false are 1 and 0.
  std::map<std::string, double> params = {};
  std::map<std::string, std::string> text_params = {};
};

struct Selection {
  std::vector<std::string> nodes;
  std::vector<std::string> scopes;
  std::vector<std::string> patterns;
  std::vector<Category> categories;

  bool operator==(const Selection&) const = default;
};

enum class PauseMode { kNode, kStep, kNone };

struct WatchpointSpec {
  ConditionInstance condition;
  Selection selection;
  PauseMode pause = PauseMode::kNode;
  bool enabled = true;
};

// Fields that are absent stay as they are.
struct WatchpointChange {
  std::optional<ConditionInstance> condition;
  std::optional<Selection> selection;
  std::optional<PauseMode> pause;
  std::optional<bool> enabled;
};

struct WatchpointInfo {
  uint32_t id = 0;
  WatchpointSpec spec;
  // Known nodes that it covers.
  uint64_t node_count = 0;
  uint64_t hit_count = 0;
  // Why it cannot be checked; empty if it can.
  std::string error;
};

// The recommended watchpoints of a job.
struct RecommendedInfo {
  // In the order of the set.
  std::vector<WatchpointInfo> watchpoints;
  // Those that were not there before.
  std::vector<uint32_t> made;
};

struct StatisticsInfo {
  uint64_t count = 0;
  uint64_t nan_count = 0;
  uint64_t pos_inf_count = 0;
  uint64_t neg_inf_count = 0;
  uint64_t zero_count = 0;
  uint64_t negative_count = 0;
  uint64_t positive_count = 0;
  std::optional<double> min, max, mean, abs_mean, abs_max, variance, l1, l2;
};

enum class Origin { kUnknown, kOrigin, kPropagated };

struct HitInfo {
  // From 1 in the job, in order of arrival.
  uint64_t id = 0;
  uint32_t watchpoint = 0;
  uint32_t rank = 0;
  uint64_t step = 0;
  std::string node;
  uint32_t slot = 0;
  std::string op_type;
  uint64_t order = 0;
  ConditionInstance condition;
  std::map<std::string, double> actual;
  StatisticsInfo statistics;
  TensorTypeInfo type;
  Origin origin = Origin::kUnknown;
  std::optional<SourceLine> source;
  std::string error;
  int64_t time_unix_nano = 0;
};

struct HitQuery {
  std::optional<uint32_t> watchpoint;
  std::optional<uint32_t> rank;
  std::optional<uint64_t> step;
  std::string node;
  uint32_t limit = 200;
  std::string cursor;
};

struct HitResult {
  std::vector<HitInfo> hits;
  std::string next_cursor;
};

struct ControlRequest {
  ControlVerb verb = ControlVerb::kContinue;
  uint64_t steps = 1;
  std::string node;
  // kContinueTo: the node may be one that is not known yet.
  bool pending = false;
  // Absent: all ranks.
  std::optional<uint32_t> rank;
  // Whose it is, as "graphdbg" or "browser", and from where.
  std::string client;
  std::string peer;
};

struct TensorQuery {
  std::string node;
  uint32_t slot = 0;
  uint32_t rank = 0;
  enum class Version { kCurrent, kPrevious, kStep } version = Version::kCurrent;
  uint64_t step = 0;
  // NumPy's basic indexing with or without brackets; empty: all.
  std::string slice;
  bool want_data = true;
  bool want_statistics = false;
  uint64_t max_elements = 0;
  uint64_t max_bytes = 0;
};

struct TensorValue {
  std::string node;
  uint32_t slot = 0;
  uint32_t rank = 0;
  uint64_t step = 0;
  TensorTypeInfo type;
  std::vector<int64_t> slice_shape;
  // Little endian, row major, of the slice.
  std::string data;
  bool overwritten = false;
  // How many times too large gradients of a scaled loss are; 0: they are not.
  double grad_scale = 0;
  std::optional<StatisticsInfo> statistics;
  // How often the rank had gone on from a stop before this: answers with the
  // same number are of the same stop.
  uint64_t stops_left = 0;
};

// One tensor of a node in the list of /tensors.
struct TensorSummary {
  // "input" or "output".
  std::string role;
  Endpoint tensor;
  // The node's own slot or argument position.
  uint32_t index = 0;
  // Known statistics of the newest step looked at; absent if none.
  std::optional<StatisticsInfo> statistics;
  uint64_t statistics_step = 0;
};

struct NeighbourQuery {
  std::string node;
  uint32_t slot = 0;
  // How far to go, up and down.
  uint32_t depth = 1;
  // Whose statistics.
  uint32_t rank = 0;
};

struct NeighbourNode {
  NodeInfo node;
  // 0: makes the tensor asked for. Below 0: what that is made of, above:
  // what is made of it.
  int32_t distance = 0;
};

struct NeighbourEdge {
  std::string from;
  uint32_t slot = 0;
  std::string to;
  // Argument at the consumer.
  uint32_t position = 0;
  EdgeKind kind = EdgeKind::kData;
};

struct NeighbourTensor {
  Endpoint tensor;
  // Known statistics of the newest step looked at; absent if none.
  std::optional<StatisticsInfo> statistics;
  uint64_t statistics_step = 0;
  // Of all ranks, and the newest of them.
  uint64_t hit_count = 0;
  std::vector<HitInfo> hits;
};

// Around a tensor.
struct Neighbours {
  Endpoint tensor;
  // By distance and execution order.
  std::vector<NeighbourNode> nodes;
  std::vector<NeighbourEdge> edges;
  // Outputs of these nodes.
  std::vector<NeighbourTensor> tensors;
  // There are more than are told.
  bool truncated = false;
};

// A node with all that an export of the graph says of it.
struct ExportNode {
  NodeInfo node;
  std::map<std::string, std::string> attributes;
  // Edges that end here.
  std::vector<NeighbourEdge> inputs;
};

// Some nodes of one graph, in the order in which they became known.
struct GraphPage {
  // Of the graph.
  std::string graph;
  std::vector<ExportNode> nodes;
  // Where the next page begins; 0: this was the last.
  uint64_t next = 0;
};

struct StatisticsPoint {
  uint64_t step = 0;
  StatisticsInfo statistics;
};

// What is known of one tensor on one rank, ascending by step.
struct TensorHistory {
  Endpoint tensor;
  std::vector<StatisticsPoint> points;
};

// What a page must know without asking again. `payload` is filled by type.
struct Event {
  enum class Type {
    kJob,
    kState,
    kGraph,
    kHit,
    kTensor,
    kWatchpoint,
    kLog,
    kCommand
  };
  Type type = Type::kState;
  // Set by the session: from 1 in the job, without gaps.
  uint64_t seq = 0;
  std::string job;
  uint32_t rank = 0;
  // kJob, kState: the job as it is now; absent in a kJob: it was forgotten, and
  // this is its last event.
  std::optional<JobInfo> job_info;
  // kHit.
  std::optional<HitInfo> hit;
  // kWatchpoint: as it is now, or only the id if it was removed.
  std::optional<WatchpointInfo> watchpoint;
  uint32_t watchpoint_id = 0;
  // kGraph: how many nodes the graph has now.
  uint64_t node_count = 0;
  // kLog; also kState of a command that failed ("error", and why).
  std::string level;
  std::string message;
  // kCommand: it was accepted, and goes to the job.
  std::optional<ControlRequest> command;
  // kCommand; also kState, when it took effect or was refused.
  std::string command_id;
};

}  // namespace graphdbg::session

#endif  // SERVER_SESSION_TYPES_H_
