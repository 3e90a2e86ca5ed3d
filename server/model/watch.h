// Watchpoints, their conditions and their hits.
#ifndef SERVER_MODEL_WATCH_H_
#define SERVER_MODEL_WATCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/model/action.h"
#include "server/model/graph.h"
#include "server/model/tensor.h"

namespace graphdbg::model {

// A condition with its parameters.
struct Condition {
  // Id in the condition catalogue.
  std::string id;
  // Numeric and boolean parameters (true is 1, false is 0).
  std::map<std::string, double> params = {};
  std::map<std::string, std::string> text_params = {};
};

// What a watchpoint covers. An empty selection covers every node. Agents select
// by it, so they define it.
using Selection = conditions::NodeSelection;

// What a watchpoint would cover, before it is made.
struct SelectionPreview {
  // Of the nodes that are known.
  uint64_t node_count = 0;
  // Their outputs of the selected types whose shapes are known, and the bytes
  // of these, in one step in which each node executes once.
  uint64_t tensors = 0;
  uint64_t bytes = 0;
  // What checking them is expected to take in such a step.
  double seconds_per_step = 0;
  // The names of the first nodes.
  std::vector<std::string> examples;
};

// Where a hit pauses the job: at the node, at the end of the step, or nowhere.
enum class PauseMode { kNode, kStep, kNone };

// A watchpoint as the user defines it.
struct WatchpointSpec {
  Condition condition;
  Selection selection;
  PauseMode pause = PauseMode::kNode;
  bool enabled = true;
  // It is disabled by its first hit.
  bool once = false;
  // This many hits of each rank are passed over.
  uint32_t ignore_count = 0;
  // Hits in earlier steps are listed but pause nothing.
  uint64_t muted_until_step = 0;
  // A label for users, by which they find watchpoints that belong together.
  std::string group;
  // Carried out at the first hit, and again at a hit after some steps without
  // any.
  std::vector<Action> actions;
};

// An edit of a watchpoint. Absent fields keep their values.
struct WatchpointChange {
  std::optional<Condition> condition;
  std::optional<Selection> selection;
  std::optional<PauseMode> pause;
  std::optional<bool> enabled;
  std::optional<bool> once;
  std::optional<uint32_t> ignore_count;
  std::optional<uint64_t> muted_until_step;
  std::optional<std::string> group;
  std::optional<std::vector<Action>> actions;
};

// A watchpoint of a job.
struct Watchpoint {
  // From 1 in the job; never reused.
  uint32_t id = 0;
  WatchpointSpec spec;
  // Number of known nodes that it covers.
  uint64_t node_count = 0;
  uint64_t hit_count = 0;
  // Why the agent cannot check it. Empty if it can.
  std::string error;
};

// The recommended watchpoints of a job.
struct RecommendedSet {
  std::vector<Watchpoint> watchpoints;
  // Ids of those that were created now.
  std::vector<uint32_t> made;
};

// Whether a bad value arose at the node or came in through its inputs.
enum class Origin { kUnknown, kOrigin, kPropagated };

// What another rank has sent to a tensor that is not finite.
struct Sender {
  uint32_t rank = 0;
  // The first op of that rank whose output is not finite, and which output.
  std::string node;
  uint32_t slot = 0;
  // The collective through which it came.
  std::string collective;
  // The user's line of the op; null if it is unknown.
  std::shared_ptr<const SourceLine> source;
};

// What the op of a hit has read from one of its inputs.
struct HitInput {
  // Index in the node's inputs.
  uint32_t position = 0;
  TensorType type;
  Statistics statistics;
};

// One tensor that matched a watchpoint's condition, at one step on one rank.
// Reports, the hit log and the store identify the node by a number of their
// own; they leave its name and op type empty.
struct Hit {
  // From 1 in the job, in order of arrival. 0 in reports.
  uint64_t id = 0;
  uint32_t watchpoint = 0;
  // The revision of the watchpoint that was checked, and its condition, which
  // all hits of the revision share. The condition is null in reports.
  uint32_t revision = 0;
  std::shared_ptr<const Condition> condition;
  uint32_t rank = 0;
  uint64_t step = 0;
  std::string node;
  std::string op_type;
  uint32_t slot = 0;
  // Position in the execution order of the step.
  uint64_t order = 0;
  // The measured values that the condition compared, by name.
  std::map<std::string, double> actual;
  Statistics statistics;
  TensorType type;
  // The inputs of the op that could be measured, the first ones at most.
  std::vector<HitInput> inputs;
  Origin origin = Origin::kUnknown;
  // Infinities that reached no result. It did not stop the job.
  bool absorbed = false;
  // The user's own line; for a backward op, that of its forward op. Null if it
  // is unknown. Hits at the same line may share it.
  std::shared_ptr<const SourceLine> source;
  // Why the condition could not be evaluated. Empty if it was.
  std::string error;
  // What the job has found, for a condition that it tests itself. Empty for
  // conditions on values.
  std::string message;
  int64_t time_unix_nano = 0;
  // The rank that values which are not finite came from, if they came from
  // another one. It is known when the step has ended on both ranks, and until
  // the server ends.
  std::optional<Sender> sent_by;
};

// Criteria for hits; a hit must match all of them.
struct HitQuery {
  std::optional<uint64_t> id = {};
  std::optional<uint32_t> watchpoint;
  std::optional<uint32_t> rank;
  std::optional<uint64_t> step;
  // An incident's id.
  std::optional<uint64_t> incident;
  // A node or a scope. Empty: any.
  std::string node;
  uint32_t limit = 200;
  // HitPage::next_cursor of the previous page. Empty: the first page.
  std::string cursor;
};

// Hits in execution order.
struct HitPage {
  std::vector<Hit> hits;
  // Empty on the last page.
  std::string next_cursor;
};

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_WATCH_H_
